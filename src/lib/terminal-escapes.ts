/**
 * Removes escape sequences for terminals from the output of programs.
 */

/**
 * Control sequences (colours, movements), strings such as titles and links with their end, and short sequences. No quantifier
 * crosses the next escape character, so that the time grows linearly; that of `stripVTControlCharacters` of Node does not.
 */
const escapeSequences = new RegExp(
  [
    String.raw`(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]`,
    String.raw`(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)`,
    String.raw`\u001b[ -/]*[0-~]`,
  ].join('|'),
  'g',
)

/** The text without escape sequences. Other control characters, line breaks and tabs stay. */
export function stripTerminalEscapes(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  return /[\u001b\u0090-\u009f]/.test(text) ? text.replace(escapeSequences, '') : text
}
