/**
 * Draws the lines around the conversation: the title above it, the work of the turn and the state of the gateway below it.
 */
import { type Component, visibleWidth } from '@earendil-works/pi-tui'
import { formatCost } from '../../lib/format-cost.ts'
import { type Conversation, isWorking, titleOf } from './conversation.ts'
import { countWaiting, currentConversation, type TuiState } from './store.ts'
import { fitLine, type Span, spread, wrapSpans } from './text-layout.ts'
import type { Theme } from './theme.ts'

export interface BarOptions {
  readonly theme: Theme
  readonly clock: () => number
  state(): TuiState
}

export function createTitleBar({ theme, state }: BarOptions): Component {
  return createLine((width) => {
    const { unread, asking } = countWaiting(state())
    const title = titleOf(currentConversation(state()))
    const name = fitLine([{ text: title === '' ? 'New conversation' : title, style: theme.strong }], width)
    const waiting: Span[] = []
    if (asking > 0) waiting.push({ text: ` ? ${asking} ${asking === 1 ? 'asks' : 'ask'}`, style: theme.warn })
    if (unread > 0) waiting.push({ text: ` * ${unread} unread`, style: theme.accent })
    const marks = fitLine(waiting, width)
    const rule = width - visibleWidth(name) - visibleWidth(marks) - 1
    return rule < 1 ? name : `${name} ${theme.dim('─'.repeat(rule))}${marks}`
  })
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
/** The time between two frames, ms. */
export const frameMs = 120

/** Empty while no turn runs. */
export function createWorkBar({ theme, clock, state }: BarOptions): Component {
  /** When the work of a chat was seen first. */
  const startedAt = new Map<string, number>()
  return createLine((width) => {
    const conversation = currentConversation(state())
    const { chat, isStopping, questions } = conversation
    if (!isWorking(conversation)) {
      startedAt.delete(chat)
      return ''
    }
    const now = clock()
    const since = startedAt.get(chat) ?? now
    startedAt.set(chat, since)
    const sign = questions.length > 0 ? '?' : (frames[Math.floor(now / frameMs) % frames.length] ?? '')
    const what = questions.length > 0 ? 'Waits for your answer' : isStopping ? 'Stopping' : 'Working'
    const left = [{ text: `${sign} ${what}`, style: theme.warn }, span(` ${formatDuration(now - since)}`, theme)]
    return spread(left, [span(questions.length > 0 ? 'Ctrl-Q answers' : 'Ctrl-C stops', theme)], width)
  })
}

export function createStatusBar({ theme, state }: BarOptions): Component {
  const facts = createLine((width) => {
    const { gateway, showsDetails } = state()
    const conversation = currentConversation(state())
    const left = connectionOf(gateway, conversation, theme)
    const right = [formatSpent(conversation), showsDetails ? 'details' : '', '/help'].filter((fact) => fact !== '')
    return spread(left, [span(right.join('  '), theme)], width)
  })
  return {
    ...facts,
    render(width) {
      const { hint } = state()
      return hint === '' ? facts.render(width) : wrapSpans([{ text: hint, style: theme.warn }], width)
    },
  }
}

function connectionOf(gateway: TuiState['gateway'], { connection }: Conversation, theme: Theme): Span[] {
  if (gateway.state === 'starting') return [{ text: '○ ', style: theme.warn }, span('starting', theme)]
  if (connection === 'lost') return [{ text: '! connection lost, reconnecting', style: theme.bad }]
  const sign = connection === 'live' ? { text: '● ', style: theme.good } : { text: '○ ', style: theme.warn }
  return [sign, span(gateway.model, theme)]
}

function formatSpent({ spent: { input, output, cost } }: Conversation): string {
  if (input + output === 0) return ''
  const tokens = `${formatCount(input)} in ${formatCount(output)} out`
  return cost === 0 ? tokens : `${tokens} ${formatCost({ tokens: 1, unpricedTokens: 0, cost })}`
}

function formatCount(count: number): string {
  return count < 1_000 ? String(count) : `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`
}

function formatDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

function span(text: string, theme: Theme): Span {
  return { text, style: theme.dim }
}

/** A line that takes no room when it is empty. */
function createLine(draw: (width: number) => string): Component {
  return {
    invalidate: () => undefined,
    render(width) {
      const line = draw(width)
      return line === '' ? [] : [line]
    },
  }
}
