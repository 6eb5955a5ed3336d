/**
 * Where the time of a turn goes: samples of the V8 profiler, sorted by the folder that ran and by the time since the message
 * arrived. `--draw <file>` writes the picture of `docs/explanation/performance.md`.
 */
import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { withGateway } from '../kit/gateway.ts'
import { type Area, areasOf, profileSchema } from '../kit/profile-areas.ts'
import { drawAreas } from '../kit/profile-picture.ts'
import { median } from '../kit/stats.ts'

const clockedSchema = z.object({
  clocked: z.array(z.object({ first: z.boolean(), begun: z.number(), accepted: z.number(), answered: z.number() })),
})

export const profile: Figure = {
  name: 'profile',
  about: 'where the time of a turn goes, by folder: --draw <file> writes the picture',
  measure: (options) =>
    withGateway({ config: 'platforms: { direct: { enabled: true } }' }, async (gateway) => {
      const load = { chats: 1, perSession: 50, pauseMs: 5 }
      options.progress('warm-up')
      await gateway.request('turns', { ...load, run: 'warm', turns: 600 }, clockedSchema)
      options.progress('with the profiler')
      await gateway.request('profile:begin', {}, z.unknown())
      const { clocked } = await gateway.request(
        'turns',
        { ...load, run: 'own', turns: options.full ? 2_000 : 600 },
        clockedSchema,
      )
      const samples = profileSchema.parse(await gateway.request('profile:end', {}, z.unknown()))
      const later = clocked.filter(({ first }) => !first)
      const until = median(later.map(({ answered }) => answered))
      const areas = areasOf(samples, later, until + receiptMs)
      await draw(areas, until, options)
      return areas.map(rowOf)
    }),
}

/** How long after the reply the picture goes on. The receipt of the reply is stored then. */
const receiptMs = 1.5

function rowOf({ name, ms }: Area): Row {
  return { name: `time of a turn in ${name}`, measured: ms, unit: 'ms' }
}

async function draw(areas: readonly Area[], answeredMs: number, { drawTo, progress }: BenchOptions): Promise<void> {
  if (drawTo === undefined) return
  await writeFile(drawTo, drawAreas(areas, { answeredMs, untilMs: answeredMs + receiptMs }))
  progress(`wrote ${drawTo}`)
}
