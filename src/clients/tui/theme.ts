/**
 * The looks of the terminal interface. Without colour every text stays as it is: signs and indents carry the meaning.
 */
import { styleText } from 'node:util'
import type { EditorTheme, SelectListTheme } from '@earendil-works/pi-tui'

/** Adds control sequences around a text that has none. */
export type Style = (text: string) => string

export interface Theme {
  readonly hasColour: boolean
  readonly person: Style
  readonly accent: Style
  readonly dim: Style
  readonly good: Style
  readonly warn: Style
  readonly bad: Style
  readonly strong: Style
  readonly emphasis: Style
  readonly deleted: Style
  readonly code: Style
  readonly link: Style
  readonly heading: Style
  readonly selected: Style
}

type Format = Parameters<typeof styleText>[0]

/** The variables of the process, of which some describe the terminal. */
export type TerminalVariables = Readonly<Record<string, string | undefined>>

export function createTheme(environment: TerminalVariables): Theme {
  const hasColour = (environment['NO_COLOR'] ?? '') === ''
  const style =
    (format: Format): Style =>
    (text) =>
      hasColour && text !== '' ? styleText(format, text, { validateStream: false }) : text
  return {
    hasColour,
    person: style(['bold', 'cyan']),
    accent: style('cyan'),
    dim: style('dim'),
    good: style('green'),
    warn: style('yellow'),
    bad: style('red'),
    strong: style('bold'),
    emphasis: style('italic'),
    deleted: style('strikethrough'),
    code: style('yellow'),
    link: style('underline'),
    heading: style(['bold', 'cyan']),
    selected: style(['bold', 'cyan']),
  }
}

export function editorTheme(theme: Theme): EditorTheme {
  return { borderColor: theme.dim, selectList: listTheme(theme) }
}

function listTheme({ selected, dim }: Theme): SelectListTheme {
  return { selectedPrefix: selected, selectedText: selected, description: dim, scrollInfo: dim, noMatch: dim }
}
