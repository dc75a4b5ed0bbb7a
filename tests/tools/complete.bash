#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bash offers: for each line on standard input, words with tabs between them, the last of which is
# under the cursor and begins with ^, a line with what may stand there.
# usage: complete.bash DIRECTORY: of the script for the package bash-completion, which loads it
export BASH_COMPLETION_USER_DIR=$1
# shellcheck source=/dev/null
. /usr/share/bash-completion/bash_completion
# Its name has changed between versions.
if declare -F _comp_load >/dev/null; then _comp_load fairlead; else _completion_loader fairlead; fi
function=$(complete -p fairlead | sed 's/.*-F \([^ ]*\) .*/\1/')
while IFS=$'\t' read -ra COMP_WORDS; do
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]#^}
	COMPREPLY=()
	"$function"
	printf '%s\n' "${COMPREPLY[*]}"
done
