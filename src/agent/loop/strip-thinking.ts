/**
 * What of a model's text people get to see. Some models think aloud between tags in the text itself (contract §3.7).
 */
const thinkingTags = 'think|thinking|thought|reasoning|REASONING_SCRATCHPAD'

/** A tag counts only where a block begins: in the middle of a sentence somebody is talking about tags. */
const thinkingBlock = new RegExp(`(^|\\n)[ \\t]*<(${thinkingTags})>[\\s\\S]*?(?:</\\2>[ \\t]*\\n?|$)`, 'g')

/** A beginning that may still become a tag. */
const partialOpeningTag = new RegExp(`(^|\\n)[ \\t]*<(?:${prefixPattern(thinkingTags.split('|'))})?$`)

/** The text without its thoughts; a thought that has not ended hides everything behind it. Pure. */
export function stripThinking(text: string): string {
  if (!text.includes('<')) return text
  const shown = text.replace(thinkingBlock, '$1')
  return shown === text ? text : shown.trimStart()
}

/** The same for a text that still grows: what may be the beginning of a tag is held back, so that nobody sees half of one. */
export function stripPartialThinking(text: string): string {
  return stripThinking(text.includes('<') ? text.replace(partialOpeningTag, '$1') : text)
}

function prefixPattern(words: readonly string[]): string {
  return words.map((word) => [...word].reduceRight((rest, letter) => `${letter}(?:${rest})?`, '')).join('|')
}
