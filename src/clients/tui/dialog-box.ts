/**
 * The frame of a dialog: a title, the lines of a part that may be scrolled, the lines below it, and what the keys do.
 */
import { visibleWidth } from '@earendil-works/pi-tui'
import { fitLine } from './text-layout.ts'
import type { Theme } from './theme.ts'

export interface DialogContent {
  readonly title: string
  /** At most as many as fit; `scroll` is the first one that is shown. */
  readonly body: readonly string[]
  readonly scroll?: number
  readonly footer?: readonly string[]
  readonly keys: string
}

export interface DialogSize {
  readonly width: number
  /** The height of the whole dialog. */
  readonly maxHeight: number
}

/** Columns of the frame. */
export const frameColumns = 4

/** Each line is `width` columns wide. */
export function drawDialog(content: DialogContent, { width, maxHeight }: DialogSize, theme: Theme): string[] {
  const { title, body, scroll = 0, footer = [], keys } = content
  const inner = Math.max(1, width - frameColumns)
  const room = bodyRoom(content, maxHeight)
  const first = clampScroll(scroll, body.length, room)
  const shown = body.slice(first, first + room)
  const more = body.length > room ? ` ${first + 1}-${first + shown.length}/${body.length}` : ''
  const row = (line: string) => {
    const cells = line + ' '.repeat(Math.max(0, inner - visibleWidth(line)))
    return `${theme.accent('│')} ${cells} ${theme.accent('│')}`
  }
  return [
    edge('╭', '╮', `${title}${more}`, width, theme),
    ...shown.map(row),
    ...footer.map(row),
    edge('╰', '╯', keys, width, theme),
  ]
}

/** Lines of the body that fit. */
export function bodyRoom({ footer = [] }: Pick<DialogContent, 'footer'>, maxHeight: number): number {
  return Math.max(1, maxHeight - footer.length - 2)
}

export function clampScroll(scroll: number, lines: number, room: number): number {
  return Math.max(0, Math.min(scroll, lines - room))
}

function edge(left: string, right: string, text: string, width: number, theme: Theme): string {
  const shown = fitLine([{ text }], Math.max(0, width - 6))
  const label = shown === '' ? '' : ` ${shown} `
  const rest = Math.max(0, width - 3 - visibleWidth(label))
  return theme.accent(`${left}─`) + theme.strong(label) + theme.accent(`${'─'.repeat(rest)}${right}`)
}
