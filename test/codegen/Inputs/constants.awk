# Shows constants where they are used, %c8 for 8, and not where they are defined: a test then does not depend on which use came first.
$2 == "=" && $3 ~ /^"arith.constant"/ { sub(/}>.*/, "", $6); constants[$1] = "%c" $6; next }
/^builtin.module/ { split("", constants) }
{
  rest = $0
  line = ""
  while (match(rest, /%[0-9]+/)) {
    name = substr(rest, RSTART, RLENGTH)
    line = line substr(rest, 1, RSTART - 1) (name in constants ? constants[name] : name)
    rest = substr(rest, RSTART + RLENGTH)
  }
  print line rest
}
