# The PTX text of a gpu.binary, one instruction a line.
s/\\0A/\
/g
s/\\09/ /g
