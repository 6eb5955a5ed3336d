/**
 * Text and markup of Telegram's HTML: escaping, what people see of it, and how wide that is.
 */

/** Safe as text and inside an attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

/** What remains of our own HTML after parsing. */
export function plainOf(html: string): string {
  return html.replace(/<[^>]*>/g, '').replace(/&(amp|lt|gt|quot);/g, (whole, name: string) => characters[name] ?? whole)
}

/** Columns in a font of fixed width: wide characters take two, marks none. */
export function displayWidth(text: string): number {
  let width = 0
  for (const char of text) width += widthOf(char)
  return width
}

function widthOf(char: string): number {
  if (/^(?:\p{M}|\p{Cf})$/u.test(char)) return 0
  const isWide =
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
  return isWide.test(char) ? 2 : 1
}
