/**
 * The result of a benchmark and its bar. Ratios to a baseline of the same run are decisive; absolute values are
 * reported.
 */

export type Unit =
  | 'ms'
  | 's'
  | 'µs'
  | 'MB'
  | 'MB/h'
  | '/s'
  | 'bytes'
  | 'commits'
  | 'kB'
  | 'events'
  | 'files'
  | 'texts'
  | 'tokens'
  | '×'

export interface Row {
  readonly name: string
  /** Undefined: not measured, `note` contains the reason. */
  readonly measured?: number
  readonly unit: Unit
  /** The limit of the design; absent if the design has none. */
  readonly bar?: number | undefined
  /** The bar is a minimum instead of a maximum. */
  readonly atLeast?: boolean
  readonly baseline?: { readonly what: string; readonly value: number }
  readonly note?: string | undefined
}

export interface BenchOptions {
  /** The counts of the design instead of shorter ones. */
  readonly full: boolean
  /** Minutes of the soak; 0 skips it. */
  readonly soakMinutes: number
  /** The commit or the folder of the checkout that `compare` measures beside this one. */
  readonly other: string | undefined
  /** The file to which `profile` draws its picture. */
  readonly drawTo: string | undefined
  /** Prints the items that a figure counts, too. */
  readonly list: boolean
  /** Reports the progress. */
  progress(line: string): void
}

export interface Figure {
  readonly name: string
  readonly about: string
  /** Cleans up after itself, also when it throws. */
  measure(options: BenchOptions): Promise<Row[]>
}

/** `ok`, the factor by which the bar is missed, or a dash without a bar. */
export function verdictOf({ measured, bar, atLeast = false }: Row): string {
  if (measured === undefined) return 'not measured'
  if (bar === undefined) return '–'
  if (!atLeast && measured <= bar) return 'ok'
  const excess = atLeast ? bar / measured : measured / bar
  return excess <= 1 ? 'ok' : `short by ${excess.toFixed(2)}×`
}

/** The measured value divided by the baseline, if there is one. */
export function ratioOf({ measured, baseline }: Row): number | undefined {
  return measured === undefined || baseline === undefined || baseline.value === 0
    ? undefined
    : measured / baseline.value
}
