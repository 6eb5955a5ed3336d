/**
 * The dialog of `/help`: the keys, and the slash commands of the gateway.
 */
import { type Component, matchesKey } from '@earendil-works/pi-tui'
import { bodyRoom, clampScroll, drawDialog, frameColumns } from './dialog-box.ts'
import type { GatewayCommand } from './keys.ts'
import { keyTable } from './keys.ts'
import { wrapSpans } from './text-layout.ts'
import type { Theme } from './theme.ts'

export interface HelpDialogOptions {
  readonly theme: Theme
  maxHeight(): number
  commands(): readonly GatewayCommand[]
  onLeave(): void
}

/** From this width on, what a key does stands beside it. */
const wideColumns = 50
const closingKeys = ['escape', 'enter', 'q', 'f1'] as const

export function createHelpDialog({ theme, maxHeight, commands, onLeave }: HelpDialogOptions): Component {
  let scroll = 0
  let room = 1
  let lines = 0

  return {
    invalidate: () => undefined,
    render(width) {
      const inner = Math.max(1, width - frameColumns)
      const names = commands().map(({ name, description }) => [`/${name}`, description] as const)
      const body = [...drawTable(keyTable, inner), '', ...drawTable(names, inner)]
      lines = body.length
      room = bodyRoom({}, maxHeight())
      scroll = clampScroll(scroll, lines, room)
      const keys = lines > room ? 'Arrows scroll  Esc closes' : 'Esc closes'
      return drawDialog({ title: 'Keys and commands', body, scroll, keys }, { width, maxHeight: maxHeight() }, theme)
    },
    handleInput(data) {
      if (matchesKey(data, 'up')) scroll = clampScroll(scroll - 1, lines, room)
      else if (matchesKey(data, 'down')) scroll = clampScroll(scroll + 1, lines, room)
      else if (matchesKey(data, 'pageUp')) scroll = clampScroll(scroll - room, lines, room)
      else if (matchesKey(data, 'pageDown')) scroll = clampScroll(scroll + room, lines, room)
      else if (closingKeys.some((key) => matchesKey(data, key))) onLeave()
    },
  }

  function drawTable(rows: readonly (readonly [string, string])[], width: number): string[] {
    const column = Math.max(...rows.map(([name]) => name.length)) + 2
    if (width < wideColumns || column * 2 > width)
      return rows.flatMap(([name, action]) => [
        ...wrapSpans([{ text: name, style: theme.strong }], width),
        ...wrapSpans([{ text: action, style: theme.dim }], width - 2).map((line) => `  ${line}`),
      ])
    return rows.flatMap(([name, action]) =>
      wrapSpans([{ text: action }], width - column).map((line, index) =>
        index === 0 ? theme.strong(name.padEnd(column)) + line : ' '.repeat(column) + line,
      ),
    )
  }
}
