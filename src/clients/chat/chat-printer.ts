/**
 * Prints the events of a chat on a terminal, in their order and each of them once.
 *
 * A reply arrives twice, as a message and as the result of a turn, in either order; the first one is printed. Control
 * characters are removed from the model's text, so that it cannot move the cursor or change the window title.
 */
import { stripControlCharacters } from '../../lib/visible-text.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import type { ChatEvent } from './chat-client.ts'

export interface ChatPrinterOptions {
  write(text: string): void
  /** Whether to print dim lines for tool calls and status messages. */
  readonly showAsides: boolean
}

export interface ChatPrinter {
  /** A message was sent; its result will follow. */
  onSent(): void
  onEvent(event: ChatEvent): void
  /** The result of a sent message. */
  onResult(result: TurnResult): void
  /** Prints a question with its numbered choices. */
  question(text: string, choices: readonly string[]): void
  /** Prints a status message of the terminal chat. */
  aside(text: string): void
  /** Starts a new line unless the cursor is at the start of one. */
  breakLine(): void
}

interface Draft {
  readonly id: string
  /** The part that was printed. */
  shown: string
}

const maxRemembered = 50
/** At least the number of messages that are sent again after a lost connection. */
const maxPrintedTexts = 200

export function createChatPrinter({ write, showAsides: asides }: ChatPrinterOptions): ChatPrinter {
  let atLineStart = true
  let waiting = 0
  let draft: Draft | undefined
  /** Ids of drafts whose reply was printed. */
  let finished: string[] = []
  /** The newest printed replies and notices. */
  let printed: string[] = []
  /** Printed texts that will arrive again as a message, or as a result. */
  let fromResult: string[] = []
  let fromMessage: string[] = []

  return {
    onSent() {
      waiting += 1
    },
    onEvent(event) {
      switch (event.type) {
        case 'draft':
          return printDraft(event.id, stripControlCharacters(event.text))
        case 'message':
          return printMessage(stripControlCharacters(event.text))
        case 'missed':
          return printMissed(stripControlCharacters(event.text))
        case 'activity':
          if (event.activity.kind === 'tool-started') printTool('·', event.activity.tool, event.activity.label)
          if (event.activity.kind === 'tool-ended') {
            const { ok, tool, summary } = event.activity
            if (!ok || summary !== '') printTool(ok ? '✓' : '✗', tool, summary)
          }
          return
        case 'lost':
          return printAside('Connection to the gateway lost; reconnecting…')
        case 'settled':
          return printAside(lastParagraph(event.text))
        case 'ready':
          return
      }
    },
    onResult({ status, text }) {
      waiting = Math.max(0, waiting - 1)
      const reply = stripControlCharacters(text)
      if (!removeText(fromMessage, reply)) {
        printReply(reply)
        if (reply !== '') fromResult = [...fromResult, reply].slice(-maxRemembered)
      }
      if (status === 'stopped') printAside('Stopped.')
      if (status === 'interrupted') printAside('Interrupted by your next message.')
      if (waiting === 0) fromMessage = []
    },
    question(text, choices) {
      // The question about a command is also the result of the command.
      printMessage(stripControlCharacters(text))
      if (choices.length > 0) print(`\n${choices.map((label, index) => `  ${index + 1}  ${label}\n`).join('')}\n`)
    },
    aside: printAside,
    breakLine,
  }

  /** Prints the new part of a draft. A draft that was rewritten is printed at its end, because the screen cannot be undone. */
  function printDraft(id: string, text: string): void {
    if (waiting === 0 || finished.includes(id)) return
    if (draft?.id !== id) {
      breakLine()
      draft = { id, shown: '' }
    }
    if (!text.startsWith(draft.shown)) return
    print(text.slice(draft.shown.length))
    draft.shown = text
  }

  function printMessage(text: string): void {
    if (removeText(fromResult, text)) return
    printReply(text)
    if (waiting > 0) fromMessage = [...fromMessage, text].slice(-maxRemembered)
  }

  /** After a lost connection the gateway sends all messages since the last one again. */
  function printMissed(text: string): void {
    if (!removeText(fromResult, text) && !printed.includes(text)) printMessage(text)
  }

  /** Prints a reply, or its rest when the beginning was printed as a draft. */
  function printReply(text: string): void {
    const shown = draft?.shown ?? ''
    if (draft !== undefined) finished = [...finished, draft.id].slice(-maxRemembered)
    draft = undefined
    printed = [...printed, text].slice(-maxPrintedTexts)
    const isRest = shown !== '' && text.startsWith(shown)
    if (!isRest) breakLine()
    print(isRest ? text.slice(shown.length) : text)
    breakLine()
  }

  function printTool(sign: string, name: string, detail: string): void {
    if (waiting > 0) printAside(`${sign} ${name} ${detail}`)
  }

  function printAside(text: string): void {
    if (!asides) return
    breakLine()
    write(`\u001b[2m${stripControlCharacters(text).replace(/\s+/g, ' ').slice(0, 200)}\u001b[22m\n`)
  }

  function breakLine(): void {
    if (!atLineStart) write('\n')
    atLineStart = true
  }

  function print(text: string): void {
    if (text === '') return
    write(text)
    atLineStart = text.endsWith('\n')
  }
}

/** The result of a question, without emphasis. */
function lastParagraph(text: string): string {
  return (text.trimEnd().split('\n\n').at(-1) ?? '').replace(/^\*\*(.*?)\*\*|^\*(.*)\*$/s, '$1$2')
}

/** Removes a text from the list; false when the list does not contain it. */
function removeText(list: string[], text: string): boolean {
  const index = list.indexOf(text)
  if (index !== -1) list.splice(index, 1)
  return index !== -1
}
