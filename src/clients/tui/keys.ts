/**
 * The keys of the terminal interface, for its help and its documentation, and where they differ from those of pi-tui.
 */
import { KeybindingsManager, setKeybindings, TUI_KEYBINDINGS } from '@earendil-works/pi-tui'

export interface GatewayCommand {
  readonly name: string
  readonly description: string
  readonly argsHint?: string | undefined
}

/** What each key does, in the order of the help. */
export const keyTable: readonly (readonly [keys: string, action: string])[] = [
  ['Enter', 'send the message'],
  ['Shift-Enter, Ctrl-J, \\ Enter', 'start a new line'],
  ['Up, Down', 'earlier messages, from an empty line or the first one'],
  ['Tab, @', 'complete a command, or the path of a file'],
  ['Ctrl-C', 'stop the turn; clear the message; pressed again: leave'],
  ['Ctrl-D', 'leave, from an empty message'],
  ['Esc', 'close a dialog or a completion'],
  ['Ctrl-O', 'switch between conversations'],
  ['Ctrl-N', 'start a new conversation'],
  ['Ctrl-Q', 'show the question that waits'],
  ['Ctrl-T', 'show or hide the details of tools'],
  ['PgUp, PgDn, wheel', 'scroll'],
  ['Ctrl-Home, Ctrl-End', 'scroll to the beginning or the end'],
  ['F3', 'search in the conversation'],
  ['F1, /help', 'show this help'],
]

/** Commands that the terminal interface carries out itself. */
const ownCommands: readonly (readonly [command: string, action: string])[] = [
  ['/help', 'show the keys and the commands'],
  ['/sessions', 'switch between conversations'],
  ['/new', 'start a new conversation: /new, /new <name>'],
  ['/image', 'attach a picture: /image <path>, /image clear'],
  ['/exit', 'leave'],
]

/** All commands, those of the terminal interface first. */
export function withOwnCommands(commands: readonly GatewayCommand[]): readonly GatewayCommand[] {
  const local = ownCommands.map(([command, description]) => ({ name: command.slice(1), description }))
  const names = new Set(local.map(({ name }) => name))
  return [...local, ...commands.filter(({ name }) => !names.has(name))]
}

/** pi-tui keeps its keys for the process. */
export function setKeys(): void {
  setKeybindings(
    new KeybindingsManager(TUI_KEYBINDINGS, {
      // Home and End belong to the line that is written.
      'tui.altScreen.top': 'ctrl+home',
      'tui.altScreen.bottom': 'ctrl+end',
      'tui.editor.cursorLineStart': ['home', 'ctrl+a'],
      'tui.editor.cursorLineEnd': ['end', 'ctrl+e'],
      'tui.altScreen.search': ['f3', 'ctrl+shift+f'],
    }),
  )
}
