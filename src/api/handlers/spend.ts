/**
 * `/api/spend`: what model calls have used, day by day.
 */
import { z } from 'zod'
import type { ApiServices } from '../services.ts'
import type { ApiSpend, SpendQuery } from '../shapes/spend.ts'
import { askReader } from './ask-reader.ts'
import { cleanText } from './clean-texts.ts'

const maxEntries = 500

const spendOfDays = z.array(
  z.object({
    day: z.string(),
    name: z.string(),
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost: z.number(),
  }),
)

export async function showSpend(
  services: ApiServices,
  { by, days: count }: SpendQuery,
  signal: AbortSignal,
): Promise<ApiSpend> {
  const now = new Date(services.clock())
  const first = new Date(now.getFullYear(), now.getMonth(), now.getDate() - count + 1)
  const days = Array.from({ length: count }, (_, index) =>
    dayOf(new Date(first.getFullYear(), first.getMonth(), first.getDate() + index)),
  )
  const rows = await askReader(services, { about: 'spend', by, since: first.getTime() }, spendOfDays, signal)
  const total = { input_tokens: 0, output_tokens: 0, cost: 0 }
  const entries = new Map<string, ApiSpend['entries'][number]>()
  for (const { day, name, input_tokens, output_tokens, cost } of rows) {
    const entry = entries.get(name) ?? {
      name,
      ...{ input_tokens: 0, output_tokens: 0, cost: 0 },
      tokens_by_day: days.map(() => 0),
      cost_by_day: days.map(() => 0),
    }
    entries.set(name, entry)
    for (const sum of [entry, total]) {
      sum.input_tokens += input_tokens
      sum.output_tokens += output_tokens
      sum.cost += cost
    }
    const index = days.indexOf(day)
    if (index === -1) continue
    entry.tokens_by_day[index] = input_tokens + output_tokens
    entry.cost_by_day[index] = cost
  }
  const sorted = [...entries.values()].sort(
    (a, b) => b.cost - a.cost || b.input_tokens + b.output_tokens - a.input_tokens - a.output_tokens,
  )
  return {
    days,
    total,
    entries: sorted
      .slice(0, maxEntries)
      .map((entry) => ({ ...entry, name: cleanText(services.outbox.withhold, entry.name) })),
    left_out: Math.max(0, sorted.length - maxEntries),
  }
}

/** A day is in the time zone of this process, as SQLite counts it; it is shorter or longer when the clocks change. */
function dayOf(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 10)
}
