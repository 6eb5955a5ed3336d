/**
 * The dialog that switches between conversations: those of this terminal and the stored ones, with a search in their messages.
 */
import { type Component, Input, matchesKey } from '@earendil-works/pi-tui'
import { messageOf } from '../../lib/errors.ts'
import { type Conversation, isWorking, titleOf } from './conversation.ts'
import { bodyRoom, drawDialog, frameColumns } from './dialog-box.ts'
import type { TuiState } from './store.ts'
import type { StoredConversation } from './stored-conversations.ts'
import { fitLine, type Span, spread } from './text-layout.ts'
import type { Theme } from './theme.ts'

export interface SessionListOptions {
  readonly theme: Theme
  readonly clock: () => number
  state(): TuiState
  maxHeight(): number
  /** Finds stored conversations. Its rejection is shown. */
  search(text: string): Promise<readonly StoredConversation[]>
  requestRender(): void
  onOpen(chat: string): void
  onNew(): void
  onLeave(): void
}

interface Row {
  readonly chat: string
  readonly about: string
  readonly updatedAt: number | undefined
  readonly open: Conversation | undefined
}

export function createSessionList(options: SessionListOptions): Component & { focused: boolean } {
  const { theme, clock } = options
  const input = new Input({ prompt: '/ ', placeholder: 'search', placeholderStyle: theme.dim })
  let stored: readonly StoredConversation[] = []
  let state: 'loading' | 'shown' | { readonly failed: string } = 'loading'
  let searched = ''
  let selected = 0
  void search('')

  return {
    focused: false,
    invalidate: () => undefined,
    render(width) {
      input.focused = this.focused
      const inner = Math.max(1, width - frameColumns)
      const rows = listRows()
      selected = Math.max(0, Math.min(selected, rows.length - 1))
      const body = rows.length === 0 ? [fitLine([{ text: emptyText(), style: theme.dim }], inner)] : []
      for (const [index, row] of rows.entries()) body.push(drawRow(row, index === selected, inner))
      const footer = [
        ...(typeof state === 'string' ? [] : [fitLine([{ text: state.failed, style: theme.bad }], inner)]),
        ...input.render(inner),
      ]
      const maxHeight = options.maxHeight()
      const scroll = selected - Math.floor(bodyRoom({ footer }, maxHeight) / 2)
      const keys = 'Enter opens  Ctrl-N new  Esc'
      return drawDialog({ title: 'Conversations', body, scroll, footer, keys }, { width, maxHeight }, theme)
    },
    handleInput(data) {
      if (matchesKey(data, 'up')) selected -= 1
      else if (matchesKey(data, 'down')) selected += 1
      else if (matchesKey(data, 'pageUp')) selected -= 10
      else if (matchesKey(data, 'pageDown')) selected += 10
      else if (matchesKey(data, 'escape')) options.onLeave()
      else if (matchesKey(data, 'ctrl+n')) options.onNew()
      else if (matchesKey(data, 'enter')) openSelected()
      else {
        input.handleInput(data)
        if (input.getValue() !== searched) void search(input.getValue())
      }
    },
  }

  function openSelected(): void {
    const row = listRows()[selected]
    if (row !== undefined) options.onOpen(row.chat)
  }

  /** Only the result of the newest search counts. */
  async function search(text: string): Promise<void> {
    searched = text
    try {
      const conversations = await options.search(text)
      if (searched !== text) return
      stored = conversations
      state = 'shown'
    } catch (error) {
      if (searched === text) state = { failed: messageOf(error) }
    }
    options.requestRender()
  }

  function emptyText(): string {
    if (state === 'loading') return 'Reading…'
    return searched === '' ? 'There are no conversations yet.' : 'Nothing was found.'
  }

  /** Without a search, the opened conversations that are not stored yet are listed, too. */
  function listRows(): Row[] {
    const { conversations } = options.state()
    const rows = stored.map(({ chat, about, updatedAt }): Row => {
      const open = conversations.get(chat)
      return { chat, about: open?.title || about, updatedAt, open }
    })
    if (searched !== '') return rows
    const known = new Set(rows.map(({ chat }) => chat))
    const others = [...conversations.values()].filter(({ chat }) => !known.has(chat))
    return [
      ...others
        .toReversed()
        .map((open): Row => ({ chat: open.chat, about: titleOf(open), updatedAt: undefined, open })),
      ...rows,
    ]
  }

  function drawRow({ chat, about, updatedAt, open }: Row, isSelected: boolean, width: number): string {
    const style = isSelected ? theme.selected : (text: string) => text
    const sign: Span = { text: isSelected ? '› ' : '  ', style }
    const isShown = chat === options.state().current
    const time = isShown ? 'shown' : updatedAt === undefined ? '' : formatAge(clock() - updatedAt)
    return spread(
      [sign, markOf(open), { text: about || 'New conversation', style }],
      [{ text: time, style: theme.dim }],
      width,
    )
  }

  function markOf(open: Conversation | undefined): Span {
    if (open === undefined) return { text: '  ' }
    if (open.questions.length > 0) return { text: '? ', style: theme.warn }
    if (isWorking(open)) return { text: '… ', style: theme.warn }
    return open.isUnread ? { text: '* ', style: theme.accent } : { text: '  ' }
  }
}

function formatAge(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
