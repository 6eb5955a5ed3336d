/**
 * Draws the entries of the shown conversation. The lines of an entry are kept as long as the entry and the width are the same, so
 * a growing answer costs its own lines only.
 */
import type { Component } from '@earendil-works/pi-tui'
import type { Entry, ToolEntry } from './conversation.ts'
import { currentConversation, type TuiState } from './store.ts'
import { fitLine, type Span, wrapSpans } from './text-layout.ts'
import type { Style, Theme } from './theme.ts'

/** Lines of a Markdown text. */
export type MarkdownRenderer = (text: string, width: number) => string[]

export interface TranscriptViewOptions {
  readonly theme: Theme
  readonly version: string
  state(): TuiState
  /** Undefined until it is loaded. */
  markdown(): MarkdownRenderer | undefined
}

/** Longer entries are cut: `hermes sessions show` prints them whole. */
const maxEntryChars = 200_000
/** Lines of a message of the person; a long paste would hide the conversation. */
const maxPersonLines = 12
/** From this width on, answers have a margin. */
const wideColumns = 40

interface Drawn {
  readonly key: string
  readonly lines: readonly string[]
}

export function createTranscriptView(options: TranscriptViewOptions): Component {
  const { theme } = options
  const cache = new WeakMap<Entry, Drawn>()

  return {
    invalidate: () => undefined,
    render(width) {
      const state = options.state()
      const { entries, history } = currentConversation(state)
      if (entries.length === 0) return drawGreeting(state, history === 'unknown', width)
      const lines: string[] = []
      for (const [index, entry] of entries.entries()) {
        const isSameBlock = entry.kind === 'tool' && entries[index - 1]?.kind === 'tool'
        if (index > 0 && !isSameBlock) lines.push('')
        for (const line of drawCached(entry, width, state.showsDetails)) lines.push(line)
      }
      lines.push('')
      return lines
    },
  }

  function drawCached(entry: Entry, width: number, details: boolean): readonly string[] {
    const key = `${width} ${details} ${options.markdown() !== undefined}`
    const known = cache.get(entry)
    if (known?.key === key) return known.lines
    const lines = drawEntry(entry, width, details)
    cache.set(entry, { key, lines })
    return lines
  }

  function drawEntry(entry: Entry, width: number, details: boolean): string[] {
    switch (entry.kind) {
      case 'person': {
        const lines = drawSigned('› ', entry.text, width, theme.person, theme.strong)
        const rest = lines.length - maxPersonLines
        const shown =
          rest > 0 && !details ? [...lines.slice(0, maxPersonLines), theme.dim(`  … ${rest} lines more`)] : lines
        return entry.state === 'failed' ? [...shown, theme.bad('  not sent')] : shown
      }
      case 'agent': {
        const margin = width >= wideColumns ? '  ' : ''
        const renderer = options.markdown()
        const text = cut(entry.text)
        const inner = width - margin.length * 2
        const lines = renderer === undefined ? wrapSpans([{ text }], inner) : renderer(text, inner)
        return lines.map((line) => margin + line)
      }
      case 'notice':
        return drawSigned('· ', entry.text, width, theme.dim, theme.dim)
      case 'error':
        return drawSigned('! ', entry.text, width, theme.bad, theme.bad)
      case 'tool':
        return details ? drawToolDetails(entry, width, theme) : [drawTool(entry, width, theme)]
    }
  }

  function drawGreeting({ gateway }: TuiState, isLoading: boolean, width: number): string[] {
    const strong = { text: 'Hermes', style: theme.person }
    const lines = [fitLine([strong, { text: ` ${options.version}`, style: theme.dim }], width)]
    if (isLoading) return [...lines, '', ...wrapSpans([{ text: 'Reading the conversation…', style: theme.dim }], width)]
    const model = gateway.state === 'ready' && gateway.model === 'demo'
    const about = model
      ? 'No model is configured: the offline demonstration answers. `hermes model` sets one up.'
      : 'Type a message and press Enter. /help shows the keys and the commands.'
    return [...lines, '', ...wrapSpans([{ text: about, style: model ? theme.warn : theme.dim }], width)]
  }
}

/** A text with a sign before its first line, and the others below it. */
function drawSigned(sign: string, text: string, width: number, signStyle: Style, style: Style): string[] {
  const lines = wrapSpans([{ text: cut(text).trimEnd(), style }], width - sign.length)
  return lines.map((line, index) => (index === 0 ? signStyle(sign) : ' '.repeat(sign.length)) + line)
}

function signOf({ state }: ToolEntry, theme: Theme): Span {
  if (state === 'running') return { text: '… ', style: theme.warn }
  return state === 'done' ? { text: '✓ ', style: theme.good } : { text: '✗ ', style: theme.bad }
}

function drawTool(entry: ToolEntry, width: number, theme: Theme): string {
  const { tool, label, summary } = entry
  const about = [label, summary].filter((part) => part !== '').join(' · ')
  return fitLine(
    [signOf(entry, theme), { text: tool, style: theme.strong }, { text: ` ${about}`, style: theme.dim }],
    width,
  )
}

function drawToolDetails(entry: ToolEntry, width: number, theme: Theme): string[] {
  const { tool, label, summary } = entry
  const details = [label, summary].filter((part) => part !== '')
  return [
    fitLine([signOf(entry, theme), { text: tool, style: theme.strong }], width),
    ...details.flatMap((text) => wrapSpans([{ text, style: theme.dim }], width - 4).map((line) => `    ${line}`)),
  ]
}

function cut(text: string): string {
  return text.length <= maxEntryChars ? text : `${text.slice(0, maxEntryChars)}\n…`
}
