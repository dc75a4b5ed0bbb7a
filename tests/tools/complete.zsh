#!/bin/zsh
# SPDX-License-Identifier: Apache-2.0
# The same of zsh, whose own functions that offer words are replaced by ones that print them; they need
# a terminal. Words of the form --option=value are one.
# usage: complete.zsh DIRECTORY: with the script _fairlead in it
offered=()
_describe() {
	[[ $1 != -o ]] || shift
	local pair
	for pair in "${(@P)2}"; do offered+=("${pair%%:*}"); done
}
compadd() { [[ $1 != -- ]] || shift; offered+=("$@"); }
compset() { PREFIX=${PREFIX#*=}; }
compdef() { :; }
_message() { :; }
_files() { if [[ ${1:-} == -/ ]]; then offered=(./*(N/)); else offered=(./*(N)); fi; offered=("${(@)offered#./}"); }
source "$1/_fairlead"
while IFS= read -r line; do
	words=("${(@ps:\t:)line}")
	CURRENT=${#words}
	words[CURRENT]=${words[CURRENT]#^}
	PREFIX=${words[CURRENT]}
	offered=()
	_fairlead
	# Which of them fit is zsh's to choose.
	print -r -- "${(@M)offered:#$PREFIX*}"
done
