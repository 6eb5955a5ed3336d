/**
 * Keeps a message within the number of formatted parts ("entities") that Telegram accepts: it ignores all after the
 * hundredth.
 */

export const maxEntities = 100

/**
 * Estimates the entities of a Markdown text without parsing it; usually too many rather than too few. The outbox splits a
 * reply by this number. `limitEntities` handles the rest.
 */
export function countMarkers(markdown: string): number {
  let count = 0
  let text = markdown.replace(/^[ \t>]*(`{3,}|~{3,})[\s\S]*?(?:^[ \t>]*\1|$(?![\s\S]))/gm, () => {
    count += 1
    return ''
  })
  text = text.replace(/(?<!`)(`{1,9})(?!`)[^\n]*?[^`\n]\1(?!`)/g, () => {
    count += 1
    return ''
  })
  // A run of three markers is bold and italic; `_` inside of a word is text.
  const runs = text.match(/(?<!\\)(?:\*+(?=\S)|(?<=\S)\*+|~~|(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w))/g) ?? []
  const ends = runs.reduce((sum, run) => sum + Math.ceil(run.length / 2), 0)
  const others = text.match(/\]\(|^#{1,6}[ \t]|^>|^\|[^\n|]*[^\s|:-]|<(?:b|i|u|s|em|strong|ins|del|code|kbd)>/gim) ?? []
  return count + Math.ceil(ends / 2) + others.length
}

/** The least important formatting first. */
const removableTags: readonly RegExp[] = [/<\/?i>/g, /<\/?[us]>/g, /<\/?b>/g, /<code>|<\/code>(?!<\/pre>)/g]

/** Removes formatting from HTML with too many entities. */
export function limitEntities(html: string): string {
  let limited = html
  for (const tag of removableTags) {
    if (countEntities(limited) <= maxEntities) return limited
    limited = limited.replace(tag, '')
  }
  return limited
}

/** A code block with a language is one entity. */
function countEntities(html: string): number {
  return html.match(/<(?:b|i|u|s|a|code|pre|blockquote)\b(?! class=)/g)?.length ?? 0
}
