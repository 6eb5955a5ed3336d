/**
 * What a bench measures and how it is judged. Ratios to the baseline of the same run decide; absolutes are reported.
 */

export type Unit = 'ms' | 's' | 'µs' | 'MB' | 'MB/h' | '/s' | 'bytes' | 'commits' | 'kB' | 'events' | 'files' | '×'

export interface Row {
  readonly name: string
  /** Undefined: could not be measured, `note` says why. */
  readonly measured?: number
  readonly unit: Unit
  /** The number of the design; absent where it names none. */
  readonly bar?: number
  /** The bar is a least instead of a most. */
  readonly atLeast?: boolean
  readonly baseline?: { readonly what: string; readonly value: number }
  readonly note?: string
}

export interface BenchOptions {
  /** The counts of the design instead of shorter ones. */
  readonly full: boolean
  /** Minutes of the soak; 0 leaves it out. */
  readonly soakMinutes: number
  /** Says what is going on. */
  progress(line: string): void
}

export interface Figure {
  readonly name: string
  readonly about: string
  /** Cleans up after itself, also when it throws. */
  measure(options: BenchOptions): Promise<Row[]>
}

/** `ok`, how far the bar is missed, or a dash where there is no bar. */
export function verdictOf({ measured, bar, atLeast = false }: Row): string {
  if (measured === undefined) return 'not measured'
  if (bar === undefined) return '–'
  if (!atLeast && measured <= bar) return 'ok'
  const excess = atLeast ? bar / measured : measured / bar
  return excess <= 1 ? 'ok' : `short by ${excess.toFixed(2)}×`
}

/** Measured over baseline, where there is one. */
export function ratioOf({ measured, baseline }: Row): number | undefined {
  return measured === undefined || baseline === undefined || baseline.value === 0
    ? undefined
    : measured / baseline.value
}
