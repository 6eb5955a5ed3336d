/**
 * The screen: the title, the conversation, the work of the turn, the editor and the status, from top to bottom.
 */
import {
  type AutocompleteProvider,
  Editor,
  ScrollView,
  setCapabilities,
  type Terminal,
  TuiAltScreen,
  VStack,
} from '@earendil-works/pi-tui'
import { createStatusBar, createTitleBar, createWorkBar, frameMs } from './bars.ts'
import { isWorking } from './conversation.ts'
import { setKeys } from './keys.ts'
import { currentConversation, type Store } from './store.ts'
import { editorTheme, type Theme } from './theme.ts'
import { createTranscriptView, type MarkdownRenderer } from './transcript-view.ts'

export interface ScreenOptions {
  readonly terminal: Terminal
  readonly theme: Theme
  readonly version: string
  readonly clock: () => number
  readonly store: Store
  readonly completion: AutocompleteProvider
  /** Earlier messages, the oldest first. */
  readonly history: readonly string[]
  markdown(): MarkdownRenderer | undefined
  onSubmit(text: string): void
}

/** A lower terminal shows no title. */
const minTitleRows = 8

export function createScreen(options: ScreenOptions) {
  const { terminal, theme, store, clock } = options
  setKeys()
  // Addresses are shown as texts, and no picture is drawn, so the terminal need not be asked what it can do.
  setCapabilities({ images: null, trueColor: false, hyperlinks: false })
  const tui = new TuiAltScreen(terminal, false, undefined, {
    scrollToEndIndicator: () => theme.selected(' ↓ Ctrl-End: to the end '),
  })
  const editor = new Editor(tui, editorTheme(theme), { autocompleteMaxVisible: 6 })
  editor.setAutocompleteProvider(options.completion)
  for (const entry of options.history) editor.addToHistory(entry)
  editor.onSubmit = options.onSubmit

  const state = () => store.state
  const bars = { theme, clock, state }
  const { markdown, version } = options
  const transcript = new ScrollView(createTranscriptView({ theme, version, state, markdown }), {
    follow: 'end',
    primary: true,
    scrollbar: 'auto',
    scrollbarTrackStyle: theme.dim,
    scrollbarThumbStyle: theme.dim,
  })
  tui.setLayoutRoot(
    new VStack([
      { component: createTitleBar(bars), shrink: 0, visible: ({ height }) => height >= minTitleRows },
      { component: transcript, basis: 0, grow: 1, minSize: 1 },
      { component: createWorkBar(bars), shrink: 0 },
      { component: editor, shrink: 1, minSize: 3 },
      { component: createStatusBar(bars), shrink: 0 },
    ]),
  )
  tui.setFocus(editor)
  let timer: NodeJS.Timeout | undefined
  let isStarted = false

  return {
    tui,
    editor,
    /** Draws soon, and keeps drawing while a turn of the shown conversation runs. */
    refresh() {
      const isBusy = isStarted && isWorking(currentConversation(store.state))
      if (isBusy) timer ??= setInterval(() => tui.requestRender(), frameMs)
      else {
        clearInterval(timer)
        timer = undefined
      }
      if (isStarted) tui.requestRender()
    },
    /** Takes the terminal and draws the first frame. */
    start() {
      isStarted = true
      tui.start()
      tui.renderNow()
    },
    /** Gives the terminal back as it was. May be called twice. */
    stop() {
      if (!isStarted) return
      isStarted = false
      clearInterval(timer)
      tui.stop({ preserveScreen: true })
    },
  }
}
