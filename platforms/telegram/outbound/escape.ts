/**
 * Text and markup of Telegram's HTML: escaping, and what people see of it.
 */

/** Safe as text and inside an attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const htmlEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }

/** What remains of our own HTML after parsing. */
export function stripHtml(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&(amp|lt|gt|quot);/g, (whole, name: string) => htmlEntities[name] ?? whole)
}
