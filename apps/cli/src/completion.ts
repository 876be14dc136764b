/** `reyn completion`: a script for a shell, made of the commands that there are, so that Tab knows them and their options. */
import type { Command } from "commander";

export type Shell = "bash" | "zsh" | "fish";

interface Word {
	readonly word: string;
	readonly help: string;
}

interface Place {
	/** The commands that lead here: `plan discard`; empty: none yet. */
	readonly path: string;
	readonly commands: readonly Word[];
	readonly options: readonly Word[];
	/** Those of the options here and above that take a value: the word after one is no command. */
	readonly valued: readonly string[];
}

/** The script for a shell. */
export function completionFor(shell: Shell, program: Command): string {
	const places = [...placesOf(program)];
	switch (shell) {
		case "bash":
			return bash(places);
		case "zsh":
			return zsh(places);
		case "fish":
			return fish(places);
	}
}

function* placesOf(command: Command, above: readonly string[] = [], valued: readonly string[] = []): Generator<Place> {
	const options = command.options.filter(({ hidden }) => !hidden);
	const flags = ({ long, short }: (typeof options)[number]): string[] => [long, short].filter((each) => each != null);
	const own = [...valued, ...options.filter((each) => each.required || each.optional).flatMap(flags)];
	yield {
		path: above.join(" "),
		commands: command.commands.map((each) => ({ word: each.name(), help: each.description() })),
		options: [
			...options.flatMap((each) => flags(each).map((word) => ({ word, help: each.description }))),
			{ word: "--help", help: "what it is for" },
		],
		valued: own,
	};
	for (const each of command.commands) yield* placesOf(each, [...above, each.name()], own);
}

/** A text between quotes of a POSIX shell; of fish too, which knows `\'` in them. */
const quoted = (text: string): string => `'${text.replaceAll("'", "")}'`;

/** The path of commands among the words so far: options are passed over, with the values of those that take one. */
const pathOf = (places: readonly Place[], words: string, atValue: string): string => `	local at= word skip=
	for word in ${words}; do
		if [[ -n $skip ]]; then skip=; continue; fi
		case "$word" in
			${[...new Set(places.flatMap(({ valued }) => valued))].join("|")}) skip=1 ;;
			-*) ;;
			*) case "\${at:+$at }$word" in
				${places.flatMap(({ path }) => (path === "" ? [] : [quoted(path)])).join("|")}) at="\${at:+$at }$word" ;;
			esac ;;
		esac
	done
	if [[ -n $skip ]]; then ${atValue}; return; fi`;

function bash(places: readonly Place[]): string {
	const cases = places.map(({ path, commands, options }) => {
		const words = [...commands, ...options].map(({ word }) => word);
		return `		${quoted(path)}) words=${quoted(words.join(" "))} ;;`;
	});
	return `# bash: put it into your ~/.bashrc:  eval "$(reyn completion bash)"
_reyn() {
${pathOf(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`, "COMPREPLY=()")}
	local words=
	case "$at" in
${cases.join("\n")}
	esac
	COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _reyn reyn
`;
}

function zsh(places: readonly Place[]): string {
	const cases = places.map(({ path, commands, options }) => {
		const words = [...commands, ...options].map(({ word, help }) => quoted(`${word}:${help.replaceAll(":", " ")}`));
		return `		${quoted(path)}) all=(${words.join(" ")}) ;;`;
	});
	return `#compdef reyn
# zsh: put it into your ~/.zshrc, behind compinit:  eval "$(reyn completion zsh)"
_reyn() {
${pathOf(places, `"\${(@)words[2,CURRENT-1]}"`, "_files")}
	local -a all
	case "$at" in
${cases.join("\n")}
	esac
	_describe reyn all || _files
}
compdef _reyn reyn
`;
}

function fish(places: readonly Place[]): string {
	const lines = places.flatMap(({ path, commands, options }) => {
		const parts = path === "" ? [] : path.split(" ");
		const below = commands.map(({ word }) => word).join(" ");
		const isHere = [
			...parts.map((part) => `__fish_seen_subcommand_from ${part}`),
			...(commands.length > 0 ? [`not __fish_seen_subcommand_from ${below}`] : []),
		].join("; and ");
		const when = isHere === "" ? "" : ` -n ${quoted(isHere)}`;
		return [
			...commands.map(({ word, help }) => `complete -c reyn -f${when} -a ${word} -d ${quoted(help)}`),
			...options.map(({ word, help }) => {
				const flag = word.startsWith("--") ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`;
				return `complete -c reyn${when} ${flag} -d ${quoted(help)}`;
			}),
		];
	});
	return `# fish: reyn completion fish > ~/.config/fish/completions/reyn.fish\n${lines.join("\n")}\n`;
}
