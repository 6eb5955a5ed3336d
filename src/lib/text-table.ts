/**
 * Formats tables as monospaced text, for platforms without tables.
 */
export interface TableStyle {
  /** Between two columns. */
  readonly columnSeparator: string
  /** The character of the rule under the header, and the separator of its columns. */
  readonly ruleCharacter: string
  readonly ruleSeparator: string
  /** Minimum width of a column. Default: 0. */
  readonly minColumnWidth?: number
}

export type Align = 'left' | 'right' | 'center' | null

/**
 * Returns the lines of a table: header, rule, rows. The first row is the header. Each cell is one line of plain text, and
 * rows may have different lengths.
 */
export function formatTable(
  rows: readonly (readonly string[])[],
  aligns: readonly Align[],
  style: TableStyle,
): string[] {
  const { columnSeparator, ruleCharacter, ruleSeparator } = style
  const widths = columnWidths(rows, style)
  const lines = rows.map((row) =>
    widths
      .map((width, at) => padCell(row[at] ?? '', width, aligns[at] ?? null))
      .join(columnSeparator)
      .trimEnd(),
  )
  const [head = '', ...body] = lines
  return [head, widths.map((width) => ruleCharacter.repeat(width)).join(ruleSeparator), ...body]
}

/** The width of a table in characters, without formatting it: one long cell makes every line as long. */
export function tableWidth(rows: readonly (readonly string[])[], style: TableStyle): number {
  const widths = columnWidths(rows, style)
  return (
    widths.reduce((sum, width) => sum + width, 0) + Math.max(0, widths.length - 1) * displayWidth(style.columnSeparator)
  )
}

function columnWidths(rows: readonly (readonly string[])[], { minColumnWidth = 0 }: TableStyle): number[] {
  const columns = Math.max(0, ...rows.map((row) => row.length))
  return Array.from({ length: columns }, (_, at) =>
    Math.max(minColumnWidth, ...rows.map((row) => displayWidth(row[at] ?? ''))),
  )
}

function padCell(cell: string, width: number, align: Align): string {
  const padding = width - displayWidth(cell)
  const before = align === 'right' ? padding : align === 'center' ? Math.floor(padding / 2) : 0
  return `${' '.repeat(before)}${cell}${' '.repeat(padding - before)}`
}

/** The width of a text in columns: two for East Asian characters and most emoji, none for accents and joiners. */
export function displayWidth(text: string): number {
  let columns = 0
  for (const character of text) {
    if (!zeroWidth.test(character)) columns += doubleWidth.test(character) ? 2 : 1
  }
  return columns
}

const doubleWidth =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u
const zeroWidth = /[\p{Mn}\p{Me}\p{Cf}]/u
