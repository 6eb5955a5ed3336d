/**
 * Writes the entities of a text that plain text would lose as Markdown: hidden links and code. Other formatting (bold,
 * spoilers) is left out, because the words are complete without it. Pure.
 */
import { asNumber, asText, type JsonRecord } from './payload.ts'

export interface FormattedText {
  readonly text: string
  /** Offsets are UTF-16 units. */
  readonly entities: readonly JsonRecord[]
}

/** Text that is inserted before and after an entity. */
interface Markup {
  readonly from: number
  readonly to: number
  readonly opening: string
  readonly closing: string
  /** Whether the text may contain further markup. */
  readonly isContainer: boolean
}

/** Telegram accepts 100 entities per message. */
const maxEntities = 200

/** Returns the text with Markdown, and the entities at their new offsets. Entities that overlap or split a character are ignored. */
export function toMarkdown({ text, entities }: FormattedText): FormattedText {
  const all = entities.slice(0, maxEntities).flatMap((entity) => markupOf(text, entity) ?? [])
  const marked = withoutOverlaps(all)
  if (marked.length === 0) return { text, entities }
  const insertions = insertionsOf(text, marked)
  let markdown = ''
  let end = 0
  for (const { at, inserted } of insertions) {
    markdown += text.slice(end, at) + inserted
    end = at
  }
  const moved = (offset: number) => {
    return insertions.reduce((sum, { at, inserted }) => (at <= offset ? sum + inserted.length : sum), offset)
  }
  return { text: markdown + text.slice(end), entities: entities.map((entity) => moveEntity(entity, moved)) }
}

function markupOf(text: string, entity: JsonRecord): Markup | undefined {
  const from = asNumber(entity['offset']) ?? -1
  const to = from + (asNumber(entity['length']) ?? 0)
  if (!Number.isInteger(from) || !Number.isInteger(to) || from < 0 || to <= from || to > text.length) return undefined
  const content = text.slice(from, to)
  if (text.isWellFormed() && !content.isWellFormed()) return undefined
  switch (entity['type']) {
    case 'text_link':
      return linkMarkup(from, to, content, asText(entity['url']))
    case 'code': {
      const ticks = '`'.repeat(longestRun(content) + 1)
      const space = content.startsWith('`') || content.endsWith('`') ? ' ' : ''
      return { from, to, opening: ticks + space, closing: space + ticks, isContainer: false }
    }
    case 'pre':
      return blockMarkup(text, from, to, asText(entity['language']))
    default:
      return undefined
  }
}

function linkMarkup(from: number, to: number, content: string, url: string | undefined): Markup | undefined {
  if (url === undefined || url === content) return undefined
  const target = url.replace(
    /[\s()<>\\]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`,
  )
  return { from, to, opening: '[', closing: `](${target})`, isContainer: true }
}

function blockMarkup(text: string, from: number, to: number, language: string | undefined): Markup {
  const content = text.slice(from, to)
  const fence = '`'.repeat(Math.max(3, longestRun(content) + 1))
  const before = from === 0 || text[from - 1] === '\n' ? '' : '\n'
  const after = to === text.length || text[to] === '\n' ? '' : '\n'
  const name = language?.replace(/[^\w+#.-]/g, '') ?? ''
  const end = content.endsWith('\n') ? '' : '\n'
  return {
    from,
    to,
    opening: `${before}${fence}${name}\n`,
    closing: `${end}${fence}${after}`,
    isContainer: false,
  }
}

function longestRun(content: string): number {
  let longest = 0
  for (const [ticks] of content.matchAll(/`+/g)) longest = Math.max(longest, ticks.length)
  return longest
}

/** Outer entities first. Only code within a link is nested. */
function withoutOverlaps(all: readonly Markup[]): Markup[] {
  const markups: Markup[] = []
  const ordered = all.toSorted((a, b) => a.from - b.from || b.to - a.to)
  for (const markup of ordered) {
    const conflicts = markups.some((outer) => {
      if (markup.from >= outer.to) return false
      return !outer.isContainer || markup.isContainer || markup.to > outer.to
    })
    if (!conflicts) markups.push(markup)
  }
  return markups
}

interface Insertion {
  readonly at: number
  readonly inserted: string
}

/** In the order of the text: at one offset what ends there, inner entities first, then what begins there, outer ones first. */
function insertionsOf(text: string, marked: readonly Markup[]): Insertion[] {
  const code = marked.filter(({ isContainer }) => !isContainer)
  const closings = marked.toReversed().map(({ to, closing }) => ({ at: to, inserted: closing }))
  const openings = marked.map(({ from, opening }) => ({ at: from, inserted: opening }))
  const escapes = marked
    .filter(({ isContainer }) => isContainer)
    .flatMap(({ from, to }) => bracketsIn(text, from, to))
    .filter((at) => !code.some((markup) => at >= markup.from && at < markup.to))
    .map((at) => ({ at, inserted: '\\' }))
  return [...closings, ...openings, ...escapes].sort((a, b) => a.at - b.at)
}

function bracketsIn(text: string, from: number, to: number): number[] {
  return [...text.slice(from, to).matchAll(/[[\]\\]/g)].map(({ index }) => from + index)
}

function moveEntity(entity: JsonRecord, moved: (offset: number) => number): JsonRecord {
  const from = asNumber(entity['offset'])
  const length = asNumber(entity['length'])
  if (from === undefined || length === undefined) return entity
  const offset = moved(from)
  // What is inserted behind the last character is not part of the entity.
  return { ...entity, offset, length: length <= 0 ? length : moved(from + length - 1) + 1 - offset }
}
