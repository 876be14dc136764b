/** Puts a German, French, Spanish or Japanese question into the English words that steer this model; what it is about stays as it is. */

interface Language {
	/** What steers: question words, and the things and acts that this model knows of. */
	readonly steers: readonly (readonly [RegExp, string])[];
	/** What says nothing by itself. */
	readonly small: RegExp;
}

/** Whole words, and none that belongs to a path or a name from code. */
const word = (pattern: string): RegExp =>
	new RegExp(`(?<![\\p{L}\\p{N}_$/@-]|\\w[.])(?:${pattern})(?![\\p{L}\\p{N}_$/(-]|\\.\\w)`, "giu");

const spaced = (steers: readonly (readonly [pattern: string, english: string])[], small: string): Language => ({
	steers: steers.map(([pattern, english]) => [word(pattern), ` ${english} `]),
	small: word(small.trim().split(/\s+/).join("|")),
});

const german = spaced(
	[
		["wie ?viele?", "how many"],
		["wof(?:ü|ue)r ist|wozu dient", "what is the purpose of"],
		["worum geht(?: es)?(?: hier| in)?", "what is this about"],
		["was macht|was tut", "what does"],
		["was habe ich|was hab ich", "what did i"],
		["gefragt", "ask"],
		["wovon h(?:ä|ae)ngt", "what does"],
		["h(?:ä|ae)ngt", "depend on"],
		["ab(?=\\W*$)", ""],
		["wo|woher|wohin", "where"],
		["was", "what"],
		["wer", "who"],
		["wann", "when"],
		["warum|wieso|weshalb", "why"],
		["wie", "how"],
		["welche[rsnm]?", "which"],
		["ist", "is"],
		["sind", "are"],
		["und", "and"],
		["vergleiche?", "compare"],
		["erkl(?:ä|ae)re?", "explain"],
		["zeige?(?: mir)?", "show me"],
		["dateien|datei", "files"],
		["zeilen", "lines"],
		["zeile", "line"],
		["ordner|verzeichnisse?", "folders"],
		["lizenz(?:en)?", "license"],
		["autor(?:en|in)?", "author"],
		["projekte?s?|pakete?s?|bibliothek", "project"],
		["geschrieben|gemacht|erstellt", "wrote"],
		["definiert|deklariert", "defined"],
		["benutzt|verwendet|aufgerufen", "used"],
		["getestet", "tested"],
		["abh(?:ä|ae)ngigkeiten", "dependencies"],
		["funktion(?:en)?", "function"],
		["klassen?", "class"],
		["methoden?", "method"],
		["dokumentation", "documentation"],
		["erste[nrs]?|zuerst", "first"],
		["letzte[nrs]?|zuletzt", "last"],
		["l(?:ö|oe)sche?|entferne?", "delete"],
		["schreibe?", "write"],
		["(?:ä|ae)ndere", "change"],
		["es|sie", "it"],
		["diese[srnm]?", "this"],
	],
	`der die das den dem des ein eine einen einem einer eines kein keine nicht mit für fuer von vom zu zum zur im in am an auf aus bei bis durch
	nach über ueber um unter vor oder aber auch nur noch schon so denn doch dann wenn als ob dass weil hat haben habe hatte wird werden wurde
	wurden kann können koennen soll muss gibt gib geht man mir mich dich du ich wir ihr ihm ihn euch uns mein dein sein seine hier dort da bitte
	mal steht stehen steckt heißt heisst bedeutet viel mehr`,
);

const french = spaced(
	[
		["combien (?:y a[- ]t[- ]il )?d(?:e |['’])|combien", "how many"],
		["y a[- ]t[- ]il|est[- ]ce qu(?:e |['’])", ""],
		["(?:à|a) quoi (?:sert|servent)", "what is the purpose of"],
		["de quoi d(?:é|e)pend", "what does depend on"],
		["qu['’]est[- ]ce qu(?:e c['’]est qu)?(?:e |['’]|i )", "what is "],
		["que (?:fait|font)", "what does"],
		["qu['’]ai[- ]je", "what did i"],
		["demandé", "ask"],
		["où|ou (?=est|se|sont)", "where"],
		["qui", "who"],
		["que|quoi", "what"],
		["quand", "when"],
		["pourquoi", "why"],
		["comment", "how"],
		["quel(?:le)?s?", "which"],
		["est", "is"],
		["sont", "are"],
		["et", "and"],
		["compare[zr]?", "compare"],
		["explique[zr]?(?:[- ]moi)?", "explain"],
		["montre[zr]?(?:[- ]moi)?|affiche[zr]?", "show me"],
		["fichiers?", "files"],
		["lignes", "lines"],
		["ligne", "line"],
		["dossiers?|répertoires?", "folders"],
		["licences?", "license"],
		["auteure?s?", "author"],
		["projets?|paquets?|bibliothèque", "project"],
		["écrit|créé", "wrote"],
		["définie?s?|déclarée?s?", "defined"],
		["utilisée?s?|appelée?s?", "used"],
		["testée?s?", "tested"],
		["dépendances", "dependencies"],
		["fonctions?", "function"],
		["classes?", "class"],
		["méthodes?", "method"],
		["premi(?:er|ère)|d['’]abord", "first"],
		["derni(?:er|ère)", "last"],
		["supprime[zr]?|efface[zr]?", "delete"],
		["écri(?:s|re|vez)", "write"],
		["modifie[zr]?", "change"],
		["ce(?:tte|t)?", "this"],
	],
	`le la les un une des du de au aux en dans sur sous pour par avec sans ou mais ne pas plus a ont il elle ils elles on je tu vous nous me te se
	moi toi lui leur sa son ses mon ma mes ça cela ce ces c' y ici là si aussi être avoir dit s'il plaît`,
);

const spanish = spaced(
	[
		["¿?cu(?:á|a)nt[oa]s?", "how many"],
		["¿?para qu(?:é|e) sirven?", "what is the purpose of"],
		["¿?de qu(?:é|e) depende", "what does depend on"],
		["¿?qu(?:é|e) hace[n]?", "what does"],
		["¿?qu(?:é|e) pregunt(?:é|e)", "what did i ask"],
		["¿?d(?:ó|o)nde", "where"],
		["¿?qui(?:é|e)n(?:es)?", "who"],
		["¿?qué|que (?:es|significa)", "what"],
		["¿?cu(?:á|a)ndo", "when"],
		["¿?por qu(?:é|e)", "why"],
		["¿?c(?:ó|o)mo", "how"],
		["¿?cu(?:á|a)l(?:es)?", "which"],
		["es|está|esta (?=\\p{L}+d[oa]\\b)", "is"],
		["son|están", "are"],
		["compara(?:r)?", "compare"],
		["explica(?:r|me)?", "explain"],
		["mu(?:é|e)stra(?:me)?|ens(?:é|e)(?:ñ|n)ame", "show me"],
		["archivos?|ficheros?", "files"],
		["l(?:í|i)neas", "lines"],
		["l(?:í|i)nea", "line"],
		["carpetas?|directorios?", "folders"],
		["licencias?", "license"],
		["autor(?:es|a)?", "author"],
		["versi(?:ó|o)n", "version"],
		["proyectos?|paquetes?|biblioteca", "project"],
		["escribió|escrito|creó", "wrote"],
		["definid[oa]s?|declarad[oa]s?", "defined"],
		["usad[oa]s?|utiliza(?:d[oa]s?)?|usan?", "used"],
		["probad[oa]s?", "tested"],
		["dependencias", "dependencies"],
		["funci(?:ó|o)n(?:es)?", "function"],
		["clases?", "class"],
		["m(?:é|e)todos?", "method"],
		["primer[oa]?", "first"],
		["últim[oa]", "last"],
		["borra(?:r)?|elimina(?:r)?", "delete"],
		["escribe", "write"],
		["cambia(?:r)?|modifica(?:r)?", "change"],
		["este|esta|esto", "this"],
		["y", "and"],
	],
	`el la los las un una unos unas de del al en con por para sin sobre entre o u pero no más mas muy se su sus me te le lo les mi mis tu tus nos yo
	él ella hay ha han he ser estar fue tiene tienen puede aquí ahí como si también cuando que bajo favor`,
);

const japaneseSteers: readonly (readonly [RegExp, string])[] = [
	[/いくつ|何個|何件|何本|何ファイル/g, " how many "],
	[/何行/g, " how many lines "],
	[/([\d０-９]+)\s*行目?/g, " line $1 "],
	[/どこ/g, " where "],
	[/誰|だれ/g, " who "],
	[/なぜ|どうして/g, " why "],
	[/いつ/g, " when "],
	[/どうやって|どのように|どう(?!し)/g, " how "],
	[/どの|どれ|どちら/g, " which "],
	[/何(?=[をがはで]|$|です|の)|なに|なん(?=で)/g, " what "],
	[/ファイル/g, " files "],
	[/フォルダー?|ディレクトリ/g, " folders "],
	[/ライセンス/g, " license "],
	[/作者|著者|作成者/g, " author "],
	[/バージョン/g, " version "],
	[/プロジェクト|パッケージ|ライブラリ/g, " project "],
	[/書い|書きま|作っ|作りま/g, " wrote "],
	[/定義|宣言/g, " defined "],
	[/使わ|使っ|使用|利用/g, " used "],
	[/テスト/g, " tests "],
	[/依存関係/g, " dependencies "],
	[/関数/g, " function "],
	[/クラス/g, " class "],
	[/メソッド/g, " method "],
	[/最初/g, " first "],
	[/最後/g, " last "],
	[/質問し|聞きま|聞い|尋ね/g, " did i ask "],
	[/私|わたし/g, " i "],
	[/見せて|表示し?て?/g, " show me "],
	[/削除し?て?|消して/g, " delete "],
	[/比較/g, " compare "],
	[/説明/g, " explain "],
	[/これ|それ|あれ/g, " it "],
	[/この|その|あの/g, " this "],
];
// Particles, forms of "to be" and "to do", and what makes a question polite.
const japaneseSmall =
	/^(?:[はがをにのでともかやへてたなねよ]|から|まで|より|です|ます|でし|まし|ました|ません|ください|下さい|さ|し|する|して|した|され|れる|れ|いる|い|ある|あり|ありますか|でき|できる|こと|もの|ため|など|という|について|教え|教えて|は何|この|その|ん|う|だ|である|せ|さん|目)$/u;

const kana = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;
const english =
	/(?<![\p{L}\p{N}_])(?:the|is|are|what|where|how|who|why|when|which|does|do|did|of|this|that|it|and|to|for|in|me|show|can|you|there)(?![\p{L}\p{N}_])/giu;
const quotes = /("[^"\n]*"|“[^”\n]*”|«[^»\n]*»|`[^`\n]*`)/;

/** The question as it is when it is English, or in no language that is known here. */
export function inEnglish(question: string): string {
	if (kana.test(question)) return fromJapanese(question);
	const own = question.match(english)?.length ?? 0;
	const best = [german, french, spanish]
		.map((language) => ({ language, ...weight(question, language) }))
		.toSorted((a, b) => b.steers + b.small - (a.steers + a.small))[0];
	// One small word alone may be a name: "todo", "para", "con".
	if (best === undefined || best.steers + best.small <= own || (best.steers === 0 && best.small < 2)) return question;
	return tidy(
		question
			.split(quotes)
			.map((part, index) => (index % 2 === 1 ? part : fromSpaced(part, best.language)))
			.join(""),
	);
}

const weight = (text: string, { steers, small }: Language): { steers: number; small: number } => ({
	steers: steers.filter(([pattern]) => text.search(pattern) >= 0).length,
	small: text.match(small)?.length ?? 0,
});

/** Steering words are kept from being taken for small ones: "this" is no word of German, but "die" may follow it. */
function fromSpaced(text: string, { steers, small }: Language): string {
	let left = text.replace(/(?<!\p{L})(?:l|d|j|n|s|t|m|c)['’](?=\p{L})/giu, "");
	const kept: string[] = [];
	for (const [pattern, word] of steers)
		left = left.replace(pattern, () => ` \ue000${kept.push(word.trim()) - 1}\ue000 `);
	return left
		.replace(small, " ")
		.replace(/\ue000(\d+)\ue000/g, (_, index) => kept[Number(index)] ?? "")
		.replaceAll(/[¿¡]/g, "");
}

const segmenter = new Intl.Segmenter("ja", { granularity: "word" });
const asking = /(?<![\w.])(?:how many(?: lines)?|where|who|why|when|how|which|what|delete|show me)(?![\w.])/;

/** The question word goes first, as English has it: "parseはどこで定義" → where parse defined. */
function fromJapanese(question: string): string {
	const steered = japaneseSteers.reduce(
		(text, [pattern, word]) => text.replace(pattern, word),
		question.normalize("NFKC"),
	);
	const words = steered
		.split(/([\x21-\x7e]+)/)
		.flatMap((run, index) =>
			index % 2 === 1
				? [run]
				: [...segmenter.segment(run)]
						.filter(({ segment, isWordLike }) => isWordLike && !japaneseSmall.test(segment))
						.map(({ segment }) => segment),
		);
	const text = tidy(words.join(" "));
	const first = asking.exec(text)?.[0];
	return first === undefined ? text : tidy(`${first} ${text.replace(asking, " ")}`);
}

const tidy = (text: string): string =>
	text
		.replace(/\s+/g, " ")
		.replace(/\s+([?!.,])/g, "$1")
		.trim();
