// Tuning records from the command line: put in from a file, looked at, checked, dropped.
//
// RUN: rm -rf %t && mkdir %t
// RUN: prism cache path --cache %t/a | FileCheck %s --check-prefix=PATH
// RUN: prism cache list --cache %t/a | FileCheck %s --check-prefix=NONE
// RUN: prism cache import %inputs/records.jsonl --cache %t/a | FileCheck %s --check-prefix=IMPORT
// RUN: prism cache import %inputs/records.jsonl --cache %t/a | FileCheck %s --check-prefix=AGAIN
// RUN: prism cache list --cache %t/a | FileCheck %s --check-prefix=LIST
// RUN: prism cache list --json --cache %t/a | FileCheck %s --check-prefix=JSON
// RUN: prism cache show 3f --cache %t/a | FileCheck %s --check-prefix=SHOW
// RUN: prism cache verify --cache %t/a | FileCheck %s --check-prefix=WHOLE

// PATH: {{.*}}a/records.sqlite
// NONE: there are no records yet
// IMPORT: 7 records, 7 new
// IMPORT-NEXT: 2 families, 1 choice, 3 measurements, 1 step
// AGAIN: 7 records, 0 new

// LIST: 3f9a01 {{.*}}matmul, unary[x**2] {{.*}}16 {{.*}}m 16, n 1024 f16 sm_80 {{.*}}5.25 us (gpu)
// LIST-NEXT: 4 us (model)
// LIST-NEXT: 7c0011 {{.*}}matmul
// LIST: 2 families, 0 objects, 1 unfinished run,

// JSON: "key": "3f9a01"
// JSON: "best_us": {
// JSON-NEXT: "gpu": 5.25
// JSON-NEXT: "model": 4.0

// SHOW: family 3f9a01
// SHOW: graphs: 16
// SHOW: choice c1
// SHOW: sizes: m 16, n 1024
// SHOW: 5.5 +- 0.125 us (gpu) warps 1, 2026-01-04 03:04
// SHOW: 4 us (model) warps 3
// SHOW: measured on gpu A100
// WHOLE: nothing is wrong

// An export is what was imported, line by line, but for the version that wrote it.
//
// RUN: prism cache export %t/b.jsonl --cache %t/a | FileCheck %s --check-prefix=EXPORT
// RUN: grep '"table"' %t/b.jsonl > %t/b.rows
// RUN: grep '"table"' %inputs/records.jsonl > %t/a.rows
// RUN: diff %t/a.rows %t/b.rows
// EXPORT: 7 records

// What goes, and what stays.
//
// RUN: prism cache prune --cache %t/a | FileCheck %s --check-prefix=USELESS
// RUN: prism cache prune --larger-than 1GB --cache %t/a | FileCheck %s --check-prefix=USELESS
// RUN: prism cache prune --foreign-versions --cache %t/a | FileCheck %s --check-prefix=FOREIGN
// RUN: prism cache import %inputs/records.jsonl --cache %t/a | FileCheck %s --check-prefix=IMPORT
// RUN: prism cache prune --all --cache %t/a | FileCheck %s --check-prefix=FOREIGN
// USELESS: dropped nothing
// FOREIGN: dropped 2 families, 1 choice, 3 measurements, 1 step

// Errors: what, and what to do.
//
// RUN: not prism cache show zz --cache %t/a 2>&1 | FileCheck %s --check-prefix=NO-KEY
// RUN: not prism cache prune --older-than soon --cache %t/a 2>&1 | FileCheck %s --check-prefix=NO-TIME
// RUN: not prism cache prune --larger-than big --cache %t/a 2>&1 | FileCheck %s --check-prefix=NO-SIZE
// RUN: not prism cache export %t/c.jsonl --cache %t/none 2>&1 | FileCheck %s --check-prefix=NO-FILE
// RUN: sed 's/: 5[.]25/: 1.25/' %inputs/records.jsonl > %t/forged.jsonl
// RUN: not prism cache import %t/forged.jsonl --cache %t/a 2>&1 | FileCheck %s --check-prefix=FORGED
// RUN: head -5 %inputs/records.jsonl > %t/short.jsonl
// RUN: not prism cache import %t/short.jsonl --cache %t/a 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: prism cache list --cache %t/a | FileCheck %s --check-prefix=EMPTY
// NO-KEY: error: no family's key begins with 'zz', prism cache list shows the keys
// NO-TIME: error: 'soon' is no length of time, write a number and s, m, h, d or w: 30d
// NO-SIZE: error: 'big' is no size, write a number and a unit: 500MB
// NO-FILE: error: there are no tuning records in
// FORGED: forged.jsonl:6:1: error: the row does not match its checksum
// SHORT: short.jsonl:5:1: error: the end is missing
// EMPTY: 0 families, 0 objects, {{[0-9]+}} bytes

// A file that is no database is left alone.
//
// RUN: mkdir %t/other && cp %inputs/records.jsonl %t/other/records.sqlite
// RUN: not prism cache verify --cache %t/other 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: diff %inputs/records.jsonl %t/other/records.sqlite
// OTHER: error: tuning records in '{{.*}}records.sqlite' cannot be used: it is no SQLite database, delete the file
