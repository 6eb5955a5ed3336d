/**
 * The terminal interface without a process: the screen is painted first, then the gateway is reached, and what the person does
 * goes to the conversation that is shown.
 */
import type { Terminal } from '@earendil-works/pi-tui'
import { messageOf } from '../../lib/errors.ts'
import { onAbort } from '../../lib/timers.ts'
import type { InputHistory } from '../chat/input-history.ts'
import { createCompletion } from './completion.ts'
import { type Connection, connectGateway, type TuiEndpoint } from './connection.ts'
import { createControls } from './controls.ts'
import { createDialogs } from './dialogs.ts'
import type { GatewayCommand } from './keys.ts'
import { withOwnCommands } from './keys.ts'
import { createMessages } from './messages.ts'
import { asPaste, maxMessageChars, tooLong } from './paste.ts'
import { createScreen } from './screen.ts'
import { createStore, currentConversation } from './store.ts'
import { createTheme, type TerminalVariables, type Theme } from './theme.ts'
import type { MarkdownRenderer } from './transcript-view.ts'

export interface AppOptions {
  readonly terminal: Terminal
  readonly environment: TerminalVariables
  readonly version: string
  /** The directory of relative paths. */
  readonly directory: string
  readonly clock: () => number
  readonly newId: () => string
  readonly history: InputHistory
  readonly fetch: typeof fetch
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal
  /** The first frame is painted when this is called. */
  connect(): Promise<TuiEndpoint>
  /** The conversation to continue. Default: a new one. */
  readonly chat?: string | undefined
  /** Paths of pictures for the first message. */
  readonly images?: readonly string[] | undefined
}

export interface App {
  /** Says something in the conversation that is shown. */
  notice(text: string): void
  /** Resolves when the person has left, with the conversation that was shown. Rejects when no gateway can be reached. */
  readonly done: Promise<{ readonly chat: string; readonly isUsed: boolean }>
  /** The terminal is taken. */
  isOpen(): boolean
  /** Gives the terminal back. May be called twice. */
  stop(): void
}

export function startApp(options: AppOptions): App {
  const { environment, clock, newId, signal } = options
  const theme = createTheme(environment)
  const userHome = environment['HOME'] ?? ''
  const closing = new AbortController()
  const until = AbortSignal.any([signal, closing.signal])
  const left = Promise.withResolvers<void>()
  const gateway = Promise.withResolvers<Connection>()
  let markdown: MarkdownRenderer | undefined
  let commands: readonly GatewayCommand[] = withOwnCommands([])

  const store = createStore(options.chat ?? newId(), options.chat === undefined ? 'shown' : 'unknown', () => {
    dialogs.follow()
    screen.refresh()
  })
  const messages = createMessages({
    store,
    userHome,
    signal: until,
    live: () => gateway.promise.then(({ live }) => live),
  })
  const screen = createScreen({
    ...{ terminal: options.terminal, theme, version: options.version, clock, store },
    completion: createCompletion({ directory: options.directory, userHome, commands: () => commands }),
    history: options.history.read(),
    markdown: () => markdown,
    onSubmit: submit,
  })
  const { tui, editor } = screen
  const startNew = () => open(newId(), true)
  const dialogs = createDialogs({
    ...{ tui, theme, store, clock, signal: until },
    markdown: () => markdown,
    commands: () => commands,
    isWriting: () => editor.getText() !== '',
    search: async (words) => await (await gateway.promise).search(words),
    onOpen: (chat) => open(chat, false),
    onNew: startNew,
    onChoice: (chat, button, message) => whenConnected(({ live }) => live.press(chat, button, message)),
    onText: (chat, text) => void messages.send(chat, text),
  })
  const onStop = (chat: string) => whenConnected(({ live }) => live.stop(chat))
  tui.addInputListener(createControls({ tui, editor, store, dialogs, onNew: startNew, onStop, onLeave: left.resolve }))
  onAbort(signal, left.resolve)

  screen.start()
  void connect()
  void loadMarkdown(theme).then((renderer) => {
    markdown = renderer
    screen.refresh()
  })

  return {
    notice: (text) => store.dispatch(store.state.current, { type: 'notice', text }),
    done: leave(),
    isOpen: () => !closing.signal.aborted,
    stop,
  }

  async function leave(): Promise<{ readonly chat: string; readonly isUsed: boolean }> {
    try {
      await left.promise
      const { chat, entries } = currentConversation(store.state)
      return { chat, isUsed: entries.some(({ kind }) => kind === 'person') }
    } finally {
      stop()
    }
  }

  function stop(): void {
    closing.abort()
    screen.stop()
  }

  /** The first frame is on the terminal before any of this is loaded. */
  async function connect(): Promise<void> {
    try {
      const connection = await connectGateway({ ...options, store, signal: until })
      gateway.resolve(connection)
      connection.live.open(store.state.current, (options.chat ?? connection.chat) === undefined)
      for (const path of options.images ?? []) await messages.send(store.state.current, `/image ${path}`)
      commands = withOwnCommands(await connection.commands())
    } catch (error) {
      // A gateway whose commands are not known is used without them: then both promises are settled already.
      gateway.promise.then(
        () => undefined,
        () => left.reject(error),
      )
      gateway.reject(error)
    }
  }

  function open(chat: string, isNew: boolean): void {
    store.show(chat, isNew ? 'shown' : 'unknown')
    tui.scrollToBottom()
    whenConnected(({ live }) => live.open(chat, isNew))
  }

  /** Without a gateway the interface ends, and `done` says why. */
  function whenConnected(action: (connection: Connection) => unknown): void {
    gateway.promise.then(action, () => undefined)
  }

  function submit(text: string): void {
    const word = text.trim()
    if (word === '') return
    if (word.length > maxMessageChars) {
      editor.handleInput(asPaste(text))
      store.update({ hint: tooLong(word.length) })
      return
    }
    editor.addToHistory(text)
    void remember(text)
    if (word === '/exit' || word === '/quit') left.resolve()
    else if (word === '/help') dialogs.showHelp()
    else if (word === '/sessions') dialogs.showSessions()
    else if (/^\/new(?:\s|$)/.test(word)) {
      startNew()
      // The gateway gives the conversation its name.
      if (word !== '/new') void messages.send(store.state.current, word)
    } else {
      if (store.state.gateway.state === 'starting')
        store.update({ hint: 'The message is sent when the gateway has started.' })
      tui.scrollToBottom()
      void messages.send(store.state.current, word)
    }
  }

  async function remember(text: string): Promise<void> {
    try {
      await options.history.add(text)
    } catch (error) {
      const reason = `The message is not kept for the arrow keys: ${messageOf(error)}`
      store.dispatch(store.state.current, { type: 'notice', text: reason })
    }
  }
}

async function loadMarkdown(theme: Theme): Promise<MarkdownRenderer> {
  const [{ loadMarkdownParser }, { renderMarkdown }] = await Promise.all([
    import('../../lib/markdown.ts'),
    import('./markdown.ts'),
  ])
  const parse = await loadMarkdownParser()
  return (text, width) => renderMarkdown(parse(text), width, theme)
}
