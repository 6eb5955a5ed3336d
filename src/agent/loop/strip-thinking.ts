/**
 * Removes thinking from the text of a model. Some models write it between tags in the text itself (contract §3.7).
 */
const thinkingTags = 'think|thinking|thought|reasoning|REASONING_SCRATCHPAD'

/** A tag counts only at the beginning of a line: elsewhere the text may be about tags. */
const thinkingBlock = new RegExp(`(^|\\n)[ \\t]*<(${thinkingTags})>[\\s\\S]*?(?:</\\2>[ \\t]*\\n?|$)`, 'g')

/** An incomplete text that may become an opening tag. */
const partialOpeningTag = new RegExp(`(^|\\n)[ \\t]*<(?:${prefixPattern(thinkingTags.split('|'))})?$`)

/** The text without thinking. An unclosed tag hides the rest of the text. Pure. */
export function stripThinking(text: string): string {
  if (!text.includes('<')) return text
  const visible = text.replace(thinkingBlock, '$1')
  return visible === text ? text : visible.trimStart()
}

/** The thinking that `stripThinking` removes; '' when there is none. Pure. */
export function thinkingIn(text: string): string {
  const blocks = text.includes('<') ? (text.match(thinkingBlock) ?? []) : []
  return blocks.map((block) => block.replace(/^\s*<\w+>|<\/\w+>\s*$/g, '').trim()).join('\n\n')
}

/** The same for a text that is still growing: a possible beginning of a tag is hidden. */
export function stripPartialThinking(text: string): string {
  return stripThinking(text.replace(partialOpeningTag, '$1'))
}

function prefixPattern(words: readonly string[]): string {
  return words.map((word) => [...word].reduceRight((rest, letter) => `${letter}(?:${rest})?`, '')).join('|')
}
