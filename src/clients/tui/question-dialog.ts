/**
 * The dialog of a question: an approval or a question of the agent. A number or the arrow keys choose; where the agent takes an
 * answer in the person's own words, typing writes it.
 */
import { type Component, Input, matchesKey } from '@earendil-works/pi-tui'
import type { Question } from './conversation.ts'
import { bodyRoom, clampScroll, type DialogSize, drawDialog, frameColumns } from './dialog-box.ts'
import { wrapSpans } from './text-layout.ts'
import type { Theme } from './theme.ts'
import type { MarkdownRenderer } from './transcript-view.ts'

export interface QuestionDialogOptions {
  readonly question: Question
  readonly theme: Theme
  maxHeight(): number
  markdown(): MarkdownRenderer | undefined
  /** The dialog has just opened, so a key was not meant for it. */
  isQuiet(): boolean
  /** The id of the chosen button. */
  onChoice(button: string): void
  onText(text: string): void
  /** The question stays open. */
  onLeave(): void
}

export function createQuestionDialog(options: QuestionDialogOptions): Component & { focused: boolean } {
  const { question, theme } = options
  const { choices, takesText } = question
  const input = new Input({ prompt: '› ' })
  let selected = 0
  let scroll = 0
  let room = 1
  let bodyLines = 0

  return {
    focused: false,
    invalidate: () => undefined,
    render(width) {
      input.focused = this.focused && takesText
      const inner = Math.max(1, width - frameColumns)
      const renderer = options.markdown()
      const text = question.text.trimEnd()
      const body = renderer === undefined ? wrapSpans([{ text }], inner) : renderer(text, inner)
      const footer = ['', ...drawChoices(inner), ...(takesText ? ['', ...input.render(inner)] : [])]
      const size: DialogSize = { width, maxHeight: options.maxHeight() }
      room = bodyRoom({ footer }, size.maxHeight)
      bodyLines = body.length
      const keys = takesText ? 'Enter answers  Esc later' : 'Enter chooses  Esc later'
      return drawDialog({ title: 'Question', body, scroll, footer, keys }, size, theme)
    },
    handleInput(data) {
      if (options.isQuiet()) return
      const number = /^[1-9]$/.test(data) && input.getValue() === '' ? choices[Number(data) - 1] : undefined
      if (number !== undefined) options.onChoice(number.id)
      else if (matchesKey(data, 'up')) selected = Math.max(0, selected - 1)
      else if (matchesKey(data, 'down')) selected = Math.min(choices.length - 1, selected + 1)
      else if (matchesKey(data, 'pageUp')) scroll = clampScroll(scroll - room, bodyLines, room)
      else if (matchesKey(data, 'pageDown')) scroll = clampScroll(scroll + room, bodyLines, room)
      else if (matchesKey(data, 'escape')) options.onLeave()
      else if (matchesKey(data, 'enter')) confirm()
      else if (takesText) input.handleInput(data)
    },
  }

  function confirm(): void {
    const text = input.getValue().trim()
    const choice = choices[selected]
    if (text !== '') options.onText(text)
    else if (choice !== undefined) options.onChoice(choice.id)
  }

  function drawChoices(width: number): string[] {
    return choices.flatMap(({ label }, index) => {
      const isSelected = index === selected && input.getValue() === ''
      const sign = `${isSelected ? '›' : ' '} ${index + 1}  `
      const style = isSelected ? theme.selected : (text: string) => text
      return wrapSpans([{ text: label, style }], width - sign.length).map((line, row) =>
        row === 0 ? style(sign) + line : ' '.repeat(sign.length) + line,
      )
    })
  }
}
