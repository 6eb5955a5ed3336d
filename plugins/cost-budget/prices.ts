/**
 * Prices of tokens by model.
 */
import { type Fields, isRecord, type Usage } from '#sdk'

/** In the currency of the settings, per million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cachedInput: number
  readonly cacheWrite: number
}

export interface PriceTable {
  /** Undefined for a model without a price. */
  find(model: string): Price | undefined
}

/** Exact names take precedence over patterns, and longer patterns over shorter ones. Throws an `Error` that names an invalid price. */
export function parsePriceTable(settings: Fields): PriceTable {
  const named = Object.entries(settings).map(([name, price]) => ({
    name,
    fits: globToRegExp(name),
    price: parsePrice(name, price),
  }))
  named.sort((a, b) => specificityOf(b.name) - specificityOf(a.name))
  return { find: (model) => named.find(({ fits }) => fits.test(model))?.price }
}

export function costOf(
  { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens }: Usage,
  price: Price,
): number {
  const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens)
  const { input, output, cachedInput, cacheWrite } = price
  const total = plain * input + cachedInputTokens * cachedInput + cacheWriteTokens * cacheWrite + outputTokens * output
  return total / 1_000_000
}

function parsePrice(name: string, value: unknown): Price {
  const price = isRecord(value) ? value : {}
  const read = (key: string, fallback?: number): number => {
    const amount = price[key] ?? fallback
    if (typeof amount === 'number' && amount >= 0) return amount
    throw new Error(`settings.prices, ${name}: expected ${key}, a number per million tokens`)
  }
  const input = read('input')
  return {
    input,
    output: read('output'),
    cachedInput: read('cached_input', input),
    cacheWrite: read('cache_write', input),
  }
}

function globToRegExp(name: string): RegExp {
  const literal = name.replace(/[\\^$.+?()[\]{}|]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll('*', '.*')}$`)
}

function specificityOf(name: string): number {
  return name.includes('*') ? name.length : name.length + 10_000
}
