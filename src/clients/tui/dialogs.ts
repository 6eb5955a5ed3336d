/**
 * Shows one dialog at a time over the conversation. A question opens by itself, unless a message is being written: its keys must
 * not answer.
 */
import type { Component, OverlayHandle, OverlayOptions, TUI } from '@earendil-works/pi-tui'
import { createHelpDialog } from './help-dialog.ts'
import type { GatewayCommand } from './keys.ts'
import { createQuestionDialog } from './question-dialog.ts'
import { createSessionList } from './session-list.ts'
import { currentConversation, type Store } from './store.ts'
import type { StoredConversation } from './stored-conversations.ts'
import type { Theme } from './theme.ts'
import type { MarkdownRenderer } from './transcript-view.ts'

export interface DialogsOptions {
  readonly tui: TUI
  readonly theme: Theme
  readonly store: Store
  readonly clock: () => number
  readonly signal: AbortSignal
  markdown(): MarkdownRenderer | undefined
  commands(): readonly GatewayCommand[]
  /** A message is being written. */
  isWriting(): boolean
  /** The stored conversations, the newest first. Rejects with the errors of the gateway. */
  search(words: string): Promise<readonly StoredConversation[]>
  onOpen(chat: string): void
  onNew(): void
  onChoice(chat: string, button: string, message: string): void
  onText(chat: string, text: string): void
}

/** Keys that arrive sooner after a question opened were not meant for it. */
const guardMs = 400
/** Lines that stay visible around a dialog. */
const margin = 2

export type Dialogs = ReturnType<typeof createDialogs>

export function createDialogs(options: DialogsOptions) {
  const { tui, theme, store, clock } = options
  let shown: { readonly handle: OverlayHandle; readonly question?: string } | undefined
  /** Questions that were left for later. */
  const later = new Set<string>()

  return {
    isOpen: () => shown !== undefined,
    /** A question, or one of the dialogs that Ctrl-C closes. */
    isQuestionOpen: () => shown?.question !== undefined,
    close,
    showSessions() {
      const list = createSessionList({
        theme,
        clock,
        state: () => store.state,
        maxHeight,
        search: options.search,
        requestRender: () => tui.requestRender(),
        onOpen: closing(options.onOpen),
        onNew: closing(options.onNew),
        onLeave: close,
      })
      show(list, { anchor: 'center' })
    },
    showHelp() {
      show(createHelpDialog({ theme, maxHeight, commands: options.commands, onLeave: close }), { anchor: 'center' })
    },
    /** Shows the question that waits, also one that was left for later. */
    showQuestion() {
      later.clear()
      openQuestion(0)
    },
    /** Follows the state: opens a new question, and closes one that has its answer. */
    follow() {
      const [question] = currentConversation(store.state).questions
      if (shown?.question !== undefined && shown.question !== question?.id) close()
      if (shown === undefined && question !== undefined && !later.has(question.id) && !options.isWriting())
        openQuestion(guardMs)
    },
  }

  function openQuestion(quietMs: number): void {
    const { chat, questions } = currentConversation(store.state)
    const [question] = questions
    if (question === undefined) return
    const until = clock() + quietMs
    const dialog = createQuestionDialog({
      question,
      theme,
      maxHeight,
      markdown: options.markdown,
      isQuiet: () => clock() < until,
      onChoice: (button) => options.onChoice(chat, button, question.id),
      onText(text) {
        close()
        options.onText(chat, text)
      },
      onLeave() {
        later.add(question.id)
        close()
      },
    })
    show(dialog, { anchor: 'bottom-center', margin: { bottom: margin } }, question.id)
  }

  function show(component: Component, place: OverlayOptions, question?: string): void {
    close()
    const handle = tui.showOverlay(component, { width: Math.min(80, tui.terminal.columns), ...place })
    shown = question === undefined ? { handle } : { handle, question }
  }

  function close(): void {
    const { handle } = shown ?? {}
    shown = undefined
    handle?.hide()
  }

  function closing<Args extends readonly unknown[]>(action: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      close()
      action(...args)
    }
  }

  function maxHeight(): number {
    return Math.max(5, tui.terminal.rows - margin * 2)
  }
}
