/**
 * Turns what happens in a chat into terminal text, in the order it happens and each thing once.
 *
 * A reply arrives by two roads, as a message and as the outcome of a turn, in either order: the first one prints it.
 * Text of the model never reaches the terminal unfiltered, so that it cannot move the cursor or retitle the window.
 */
import type { TurnResult } from '../message/turn-result.ts'
import type { ChatEvent } from './chat-client.ts'

export interface ChatPrinterOptions {
  write(text: string): void
  /** Dim lines for tools and remarks; otherwise they are left out. */
  readonly showAsides: boolean
}

export interface ChatPrinter {
  /** A message was handed in; its reply will come as an outcome. */
  onSent(): void
  onEvent(event: ChatEvent): void
  /** The end of a message that was handed in. */
  onResult(outcome: TurnResult): void
  /** A remark of the terminal itself. */
  aside(text: string): void
  /** Goes to the beginning of a line. */
  breakLine(): void
}

interface Draft {
  readonly id: string
  /** What stands on the screen of it. */
  shown: string
}

const maxRemembered = 50
/** At least as many as come again after a lost connection. */
const maxPrintedTexts = 200

export function createChatPrinter({ write, showAsides: asides }: ChatPrinterOptions): ChatPrinter {
  let atLineStart = true
  let waiting = 0
  let draft: Draft | undefined
  /** Ids of drafts whose reply has been printed. */
  let finished: string[] = []
  /** The newest replies and notices on the screen. */
  let printed: string[] = []
  /** Texts printed from one road that are still to come on the other. */
  let fromOutcome: string[] = []
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
          if (event.activity.kind === 'tool-ended' && !event.activity.ok) {
            printTool('✗', event.activity.tool, event.activity.summary)
          }
          return
        case 'lost':
          return printAside('The connection to the gateway is lost; trying again…')
        case 'ready':
          return
      }
    },
    onResult({ status, text }) {
      waiting = Math.max(0, waiting - 1)
      const reply = stripControlCharacters(text)
      if (!removeText(fromMessage, reply)) {
        printReply(reply)
        if (reply !== '') fromOutcome = [...fromOutcome, reply].slice(-maxRemembered)
      }
      if (status === 'stopped') printAside('Stopped.')
      if (waiting === 0) fromMessage = []
    },
    aside: printAside,
    breakLine,
  }

  /** Prints what is new. A draft that was rewritten waits for its end: what stands on the screen cannot be taken back. */
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
    if (removeText(fromOutcome, text)) return
    printReply(text)
    if (waiting > 0) fromMessage = [...fromMessage, text].slice(-maxRemembered)
  }

  /** After a lost connection everything since the last one comes again. */
  function printMissed(text: string): void {
    if (!removeText(fromOutcome, text) && !printed.includes(text)) printMessage(text)
  }

  /** The whole reply: the rest of the draft where it is one, otherwise all of it. */
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

/** Without control characters, and without those that turn the direction of writing around; tabs and line ends stay. */
export function stripControlCharacters(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, '')
}

/** Removes the text from the list; false when it was not there. */
function removeText(list: string[], text: string): boolean {
  const at = list.indexOf(text)
  if (at !== -1) list.splice(at, 1)
  return at !== -1
}
