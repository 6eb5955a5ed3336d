/**
 * The keys that work everywhere: they come before the editor and the dialogs.
 */
import { type Editor, isKeyRelease, matchesKey, type TUI, type TuiInputListener } from '@earendil-works/pi-tui'
import { isWorking } from './conversation.ts'
import type { Dialogs } from './dialogs.ts'
import { checkPaste } from './paste.ts'
import { currentConversation, type Store } from './store.ts'

export interface ControlsOptions {
  readonly tui: Pick<TUI, 'requestRender'>
  readonly editor: Pick<Editor, 'getText' | 'setText'>
  readonly store: Store
  readonly dialogs: Dialogs
  onNew(): void
  onStop(chat: string): void
  onLeave(): void
}

const leaveHint = 'Press Ctrl-C again to leave.'

export function createControls(options: ControlsOptions): TuiInputListener {
  const { tui, editor, store, dialogs } = options

  return (data) => {
    if (isKeyRelease(data)) return undefined
    if (matchesKey(data, 'ctrl+c')) {
      interrupt()
      return { consume: true }
    }
    if (store.state.hint !== '') store.update({ hint: '' })
    const paste = checkPaste(data)
    if (paste !== undefined && 'problem' in paste) {
      store.update({ hint: paste.problem })
      return { consume: true }
    }
    return paste ?? (handleShortcut(data) ? { consume: true } : undefined)
  }

  function handleShortcut(data: string): boolean {
    if (matchesKey(data, 'ctrl+t')) store.update({ showsDetails: !store.state.showsDetails })
    else if (dialogs.isOpen()) return false
    else if (matchesKey(data, 'f1')) dialogs.showHelp()
    else if (matchesKey(data, 'ctrl+o')) dialogs.showSessions()
    else if (matchesKey(data, 'ctrl+n')) options.onNew()
    else if (matchesKey(data, 'ctrl+q')) dialogs.showQuestion()
    else if (matchesKey(data, 'ctrl+d') && editor.getText() === '') options.onLeave()
    else return false
    return true
  }

  /** Closes a dialog, stops the turn, clears the message, and then leaves. */
  function interrupt(): void {
    const conversation = currentConversation(store.state)
    const isBusy = isWorking(conversation)
    if (dialogs.isOpen() && !dialogs.isQuestionOpen()) dialogs.close()
    else if (isBusy && !conversation.isStopping) options.onStop(conversation.chat)
    else if (!isBusy && editor.getText() !== '') editor.setText('')
    else if (isBusy || store.state.hint === leaveHint) options.onLeave()
    else store.update({ hint: leaveHint })
    tui.requestRender()
  }
}
