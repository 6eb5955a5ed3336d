/**
 * Finds words that a text hides from a search but not from a model: spaced letters, digits for letters, and Base64. Each
 * function takes time linear in the length, and returns '' for a text without such words.
 */

/** Six letters or more, each alone. */
const spacedLetters = /(?<![a-z0-9])[a-z](?:[ ._/|+-]{1,3}[a-z](?![a-z0-9])){5,400}/g
const commonVerbs = /ignore|forget|disregard|overrid|bypass/
/** The verbs and nouns of an attack, without the spaces between the words. */
const joinedAttack =
  /(?:ignor|forget|disregard|overrid|bypass)[a-z]{0,40}(?:instruction|directive|guideline|rules|prompt|filters)/

/** Folded text in one line with whole words in place of spaced letters, if they spell a verb of attacks. */
export function joinSpacedLetters(flat: string): string {
  const runs = (flat.match(spacedLetters) ?? []).map(joinLetters)
  if (!runs.some((run) => commonVerbs.test(run))) return ''
  // Between spaced words there may be no larger space: the whole stands for a request that names all of it.
  if (runs.some((run) => joinedAttack.test(run))) return 'ignore all previous instructions'
  return flat.replace(spacedLetters, joinLetters)
}

function joinLetters(run: string): string {
  return run.replace(/[^a-z]/g, '')
}

const digitsForLetters: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}
/** The words that attacks have in common; a match without a digit is an ordinary word. */
const disguisedWord =
  /(?:[i1!]gn[o0]r[e3]|f[o0]rg[e3][t7]|d[i1!][s5$]r[e3]g[a4@]rd|[o0]v[e3]rr[i1!]d[e3]|byp[a4@][s5$]{2}|pr[e3]v[i1!][o0]u[s5$]|[i1!]n[s5$][t7]ruc[t7][i1!][o0]n[s5$]|[s5$]y[s5$][t7][e3]m pr[o0]mp[t7])/g

/** Folded text with letters in place of digits, if a word of an attack is written with digits. */
export function readDigitsAsLetters(folded: string): string {
  const words = folded.match(disguisedWord) ?? []
  if (!words.some((word) => /[^a-z ]/.test(word))) return ''
  return folded.replace(/(?<=[a-z])[013457@$!]+|[013457@$!]+(?=[a-z])/g, (digits) =>
    digits.replace(/./g, (digit) => digitsForLetters[digit] ?? digit),
  )
}

/** The run may have several lines, and may use the alphabet of URLs. */
const base64Run = /\b[\w+/-]{24,}(?:\r?\n[\w+/-]{4,76}(?![^\s=]))*/g
/** The rest of such a text is rarely binary data. U+FFFD stands for bytes that are no text. */
const beginsAsText = /^[\t\n\r -~\u00A1-\uFFEF]{16}/

/** The texts in Base64, one a line. `text` is not folded. */
export function decodeBase64(text: string): string {
  const runs = text.match(base64Run) ?? []
  return runs
    .map((run) => Buffer.from(run, 'base64').toString('utf8'))
    .filter((decoded) => beginsAsText.test(decoded))
    .join('\n')
}
