/**
 * The open questions of a terminal chat. One at a time is shown, the oldest first, and its answer is a number or a label.
 */
import type { ChatClient, ChatEvent } from './chat-client.ts'
import type { ChatInput } from './chat-input.ts'
import type { ChatPrinter } from './chat-printer.ts'

export interface ChatQuestionsOptions {
  readonly client: Pick<ChatClient, 'press'>
  readonly signal: AbortSignal
  readonly printer: Pick<ChatPrinter, 'onEvent' | 'question' | 'aside'>
  /** Undefined until the prompt is shown for the first time. */
  prompt(): ChatInput | undefined
  /** No turn runs, so the prompt is shown also without a question. */
  isIdle(): boolean
  /** Prints without disturbing what the user types. */
  print(print: () => void): void
  printError(error: unknown): void
}

export interface ChatQuestions {
  /** The prompt takes an answer. */
  isOpen(): boolean
  /** True for the events of questions, which are handled here. */
  take(event: ChatEvent): boolean
  /** Answers the current question if the text is one of its choices. Returns false for a message. */
  answer(text: string): boolean
}

type Asked = Extract<ChatEvent, { readonly type: 'message' | 'missed' }>
type OpenQuestion = Pick<Asked, 'id' | 'text'> & { readonly buttons: NonNullable<Asked['buttons']> }

export function createChatQuestions(options: ChatQuestionsOptions): ChatQuestions {
  const { client, signal, printer, prompt, isIdle, print, printError } = options
  let open: readonly OpenQuestion[] = []

  return {
    isOpen: () => open.length > 0,
    take(event) {
      if (event.type === 'settled') {
        close(event.button, () => printer.onEvent(event))
        return true
      }
      if ((event.type !== 'message' && event.type !== 'missed') || event.buttons === undefined) return false
      const { id, text, buttons } = event
      const isKnown = open.some((question) => buttons.some((button) => hasButton(question, button.id)))
      if (isKnown) return true
      open = [...open, { id, text, buttons }]
      if (open.length > 1) return true
      if (isIdle()) prompt()?.clear()
      showNext()
      return true
    },
    answer(text) {
      const [question] = open
      const button = question === undefined ? undefined : chooseButton(question, text)
      if (question === undefined || button === undefined) return false
      void press(button.id, question.id)
      return true
    },
  }

  async function press(button: string, message: string): Promise<void> {
    try {
      const { status, text } = await client.press(button, message, signal)
      const report = () => printer.aside(text)
      if (status === 'refused') print(report)
      else close(button, report)
    } catch (error) {
      if (!signal.aborted) print(() => printError(error))
    }
  }

  /** The result is printed unless the question was closed before or was never shown. */
  function close(button: string, printResult: () => void): void {
    const isShown = open[0] !== undefined && hasButton(open[0], button)
    open = open.filter((question) => !hasButton(question, button))
    if (!isShown) return
    prompt()?.clear()
    printResult()
    showNext()
  }

  /** Without a question the prompt is hidden while a turn runs. */
  function showNext(): void {
    const [question] = open
    if (question !== undefined) printer.question(question.text, listedLabels(question))
    if (question !== undefined || isIdle()) prompt()?.prompt()
    else prompt()?.hide()
  }
}

function hasButton({ buttons }: OpenQuestion, button: string): boolean {
  return buttons.some(({ id }) => id === button)
}

/** The choices to list below the text, unless the text lists them. */
function listedLabels(question: OpenQuestion): readonly string[] {
  const labels = choicesOf(question).map(({ label }) => label)
  return labels.every((label, index) => question.text.includes(`${index + 1}. ${label}`)) ? [] : labels
}

function chooseButton(question: OpenQuestion, text: string): OpenQuestion['buttons'][number] | undefined {
  const choices = choicesOf(question)
  const named = text.trim().toLowerCase()
  const number = /^\d{1,2}$/.test(named) ? Number(named) : 0
  return choices[number - 1] ?? choices.find(({ label }) => label.toLowerCase() === named)
}

/** An answer in the user's own words needs no button in a terminal. */
function choicesOf({ buttons }: OpenQuestion): OpenQuestion['buttons'] {
  return buttons.filter(({ isText }) => isText !== true)
}
