/**
 * Removes the media tags from the text of a reply and returns the files that they name (contract §3.8). Pure. Tags in code
 * are not touched.
 *
 * Works line by line from the top, and no later line changes an earlier decision, so the visible text of a streamed reply
 * never shrinks.
 */
import { type CodeFence, findCodeFences } from './code-fences.ts'
import { findInlineCode } from './inline-code.ts'
import { findMediaTags, type MediaDirective, type MediaItem, type MediaTag, markdownPrefix } from './media-tags.ts'

export interface ExtractedMedia {
  /** The text without the tags. */
  readonly text: string
  /** In the order of the text, without duplicates. */
  readonly items: readonly MediaItem[]
}

/** More tags are probably a listing: the tags after these stay in the text. */
const maxItems = 20

/** A fast test for texts without tags, which most texts are. */
const tagHint = /MEDIA:|\[\[a|!\[|<img|(?:^|\n)[ \t]*~?\//i

export function extractMedia(text: string): ExtractedMedia {
  if (!tagHint.test(text)) return { text, items: [] }
  const { text: visible, tags } = scanText(text.replace(/\r\n?/g, '\n'), false)
  if (tags.length === 0) return { text, items: [] }
  const directives = new Set(tags.map(({ value }) => value).filter(isDirective))
  const items = new Map<string, MediaItem>()
  for (const { value } of tags) {
    if (isDirective(value)) continue
    const { source } = value
    const address = source.kind === 'file' ? source.path : source.url
    if (!items.has(address)) items.set(address, applyDirectives(value, directives))
  }
  return { text: visible.trimEnd(), items: [...items.values()] }
}

/** The visible part of an incomplete text: without its tags, and without an end that may become a tag. */
export function visibleDraftText(text: string): string {
  const normalized = text.replace(/\r\n?/g, '\n')
  const lastLineStart = normalized.lastIndexOf('\n') + 1
  const complete = normalized.slice(0, lastLineStart)
  const {
    text: visible,
    undecided,
    openFence,
  } = tagHint.test(complete) ? scanText(complete, true) : scanWithoutTags(complete)
  if (undecided) return visible.trimEnd()
  const lastLine = normalized.slice(lastLineStart)
  const isCode = openFence !== undefined && (openFence.quotePrefix === '' || /^[ \t]*>/.test(lastLine))
  return `${visible}${isCode ? lastLine : visibleLinePart(lastLine)}`.trimEnd()
}

function isDirective(value: MediaTag['value']): value is MediaDirective {
  return typeof value === 'string'
}

function applyDirectives(item: MediaItem, directives: ReadonlySet<MediaDirective>): MediaItem {
  if (directives.has('as_document')) return { ...item, kind: 'document' }
  return directives.has('audio_as_voice') && item.voice === true ? { ...item, kind: 'voice' } : item
}

const fenceHint = /```|~~~/

interface ScanResult {
  readonly text: string
  readonly tags: readonly MediaTag[]
  /** The end of the text is withheld, because more text may turn a tag there into code. */
  readonly undecided: boolean
  /** The code fence that is still open at the end. */
  readonly openFence: CodeFence | undefined
}

function scanWithoutTags(text: string): ScanResult {
  const openFence = fenceHint.test(text) ? findOpenFence(findCodeFences(text), text) : undefined
  return { text, tags: [], undecided: false, openFence }
}

function findOpenFence(fences: readonly CodeFence[], text: string): CodeFence | undefined {
  const last = fences.at(-1)
  return last?.closeStart === text.length ? last : undefined
}

function scanText(text: string, isPartial: boolean): ScanResult {
  const fences = findCodeFences(text)
  const writer = createTextWriter()
  const tags: MediaTag[] = []
  let remaining = maxItems
  for (const block of splitBlocks(text, fences)) {
    if (block.code) {
      writer.code(text.slice(block.start, block.end))
      continue
    }
    const paragraph = text.slice(block.start, block.end)
    const { spans, unclosedStart } = findInlineCode(paragraph)
    // A later run of backticks may turn the text after an unclosed one into code.
    const undecidedFrom =
      isPartial && block.end === text.length && !paragraph.endsWith('\n\n') ? unclosedStart : undefined
    let at = 0
    for (const line of splitLines(paragraph)) {
      const mediaTags = findMediaTags(line.replace('\n', '')).filter(({ start, end }) => {
        const [from, to] = [at + start, at + end]
        return !spans.some((span) => (span.start < from && from < span.end) || (span.start < to && to < span.end))
      })
      const undecidedTag = mediaTags.find(({ start }) => undecidedFrom !== undefined && undecidedFrom < at + start)
      if (undecidedTag !== undefined) {
        const before = line.slice(0, undecidedTag.start)
        const decided = mediaTags.filter(({ start }) => start < undecidedTag.start)
        if (decided.length > 0 || !markdownPrefix.test(before)) writer.line(before, decided)
        return { text: writer.text(), tags, undecided: true, openFence: undefined }
      }
      const accepted = mediaTags.filter(({ value }) => isDirective(value) || remaining-- > 0)
      tags.push(...accepted)
      writer.line(line, accepted)
      at += line.length
    }
  }
  return { text: writer.text(), tags, undecided: false, openFence: findOpenFence(fences, text) }
}

interface Block {
  readonly start: number
  readonly end: number
  readonly code: boolean
}

/** Code fences including their line breaks, and the paragraphs between them. */
function* splitBlocks(text: string, fences: readonly CodeFence[]): Generator<Block> {
  let from = 0
  for (const fence of fences) {
    yield* splitParagraphs(text, from, fence.start)
    const newline = text.indexOf('\n', fence.end)
    const end = newline === -1 ? text.length : newline + 1
    yield { start: fence.start, end, code: true }
    from = end
  }
  yield* splitParagraphs(text, from, text.length)
}

function* splitParagraphs(text: string, from: number, to: number): Generator<Block> {
  let start = from
  while (start < to) {
    const blank = text.indexOf('\n\n', start)
    const end = blank === -1 || blank + 2 > to ? to : blank + 2
    yield { start, end, code: false }
    start = end
  }
}

/** Lines including their line breaks. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** Joins lines and removes the traces of tags: their blanks, empty markers and double blank lines. */
function createTextWriter() {
  const parts: string[] = []
  let afterBlank = true
  /** A line after a blank one was removed, so the next blank line is dropped. */
  let dropsBlank = false

  function put(text: string, blank: boolean): void {
    if (blank && dropsBlank) return
    parts.push(text)
    afterBlank = blank
    dropsBlank = false
  }

  return {
    text: () => parts.join(''),
    code: (text: string) => put(text, false),
    line(line: string, tags: readonly MediaTag[]) {
      if (tags.length === 0) return put(line, line.trim() === '')
      let rest = ''
      let at = 0
      for (const { start, end } of tags) {
        rest += line.slice(at, start)
        at = end
        if (rest === '' || /[ \t]$/.test(rest)) while (line[at] === ' ' || line[at] === '\t') at++
      }
      rest = `${rest}${line.slice(at)}`.trimEnd()
      if (isEmptyMarker(rest)) dropsBlank ||= afterBlank
      else put(line.endsWith('\n') ? `${rest}\n` : rest, false)
    },
  }
}

/** The marker of a list item or a quote that only contained a tag. */
function isEmptyMarker(line: string): boolean {
  return markdownPrefix.test(line) && !/^[ \t]*\d+$/.test(line)
}

/** The starts of tags, complete or cut off at the end of the text. */
const tagPrefixes = [
  /(?<!\w)MEDIA:/,
  /\[\[(?:a(?:u(?:d|$)|s(?:_|$)|$)|$)/,
  /(?<!\\)!\[/,
  /<img\b/i,
  /(?<!\w)M(?:E(?:D(?:IA?)?)?)?$/,
  /\[$/,
  /!$/,
  /<(?:im?)?$/i,
]
/** May become the marker of a list item, a fence, or a path alone on its line. */
const ambiguousLine = /^(?:[ \t>*_+`~-]*(?:\d{1,9}(?:[.)][ \t]*)?)?$|[ \t]*~?\/|[ \t>]*(?:```|~~~))/

/** The part of an incomplete line that cannot belong to a tag. */
function visibleLinePart(line: string): string {
  if (ambiguousLine.test(line)) return ''
  const positions = tagPrefixes.map((candidate) => line.search(candidate)).filter((at) => at !== -1)
  const shown = positions.length === 0 ? line : line.slice(0, Math.min(...positions))
  return markdownPrefix.test(shown) ? '' : shown
}
