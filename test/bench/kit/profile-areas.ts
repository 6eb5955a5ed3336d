/**
 * Sorts the samples of a CPU profile: which folder ran, and how long after the arrival of its message.
 */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** The part of `Profiler.Profile` (Chrome DevTools protocol) that is read. Times are microseconds of the monotonic clock. */
export const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
      children: z.array(z.number()).optional(),
    }),
  ),
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
})

export type Profile = z.infer<typeof profileSchema>

/** The time of one folder within a turn. */
export interface Area {
  readonly name: string
  /** On average per turn. */
  readonly ms: number
  /** The share of the turns that were in this area, for each of `bins` equal steps of time. */
  readonly shares: readonly number[]
}

export const bins = 60

const smallestShownMs = 0.02

/**
 * The areas of the first `untilMs` of each turn, in the order in which a turn reaches them. `begun` is in ms of the monotonic
 * clock.
 */
export function areasOf(profile: Profile, turns: readonly { readonly begun: number }[], untilMs: number): Area[] {
  const areaOfNode = areasOfNodes(profile)
  const times = new Map<string, number[]>()
  const beginnings = turns.map(({ begun }) => begun * 1_000).sort((a, b) => a - b)
  let at = profile.startTime
  let turn = 0
  for (const [index, node] of profile.samples.entries()) {
    at += profile.timeDeltas[index] ?? 0
    while ((beginnings[turn + 1] ?? Number.POSITIVE_INFINITY) <= at) turn += 1
    const offsetMs = (at - (beginnings[turn] ?? Number.POSITIVE_INFINITY)) / 1_000
    if (offsetMs < 0 || offsetMs >= untilMs) continue
    const area = areaOfNode.get(node) ?? 'node and V8'
    const inBins = times.get(area) ?? Array.from({ length: bins }, () => 0)
    const bin = Math.floor((offsetMs / untilMs) * bins)
    inBins[bin] = (inBins[bin] ?? 0) + (profile.timeDeltas[index + 1] ?? 0) / 1_000
    times.set(area, inBins)
  }
  const perBin = (turns.length * untilMs) / bins
  return withOthers(
    [...times].map(([name, inBins]) => ({
      name,
      ms: sum(inBins) / turns.length,
      shares: inBins.map((ms) => Math.min(1, ms / perBin)),
    })),
  ).sort((a, b) => rank(a) - rank(b))
}

/** Areas that are too small for a line of their own become one. */
function withOthers(areas: readonly Area[]): Area[] {
  const small = areas.filter(({ ms }) => ms < smallestShownMs)
  if (small.length === 0) return [...areas]
  const others = {
    name: 'other folders',
    ms: sum(small.map(({ ms }) => ms)),
    shares: Array.from({ length: bins }, (_, bin) => sum(small.map(({ shares }) => shares[bin] ?? 0))),
  }
  return [...areas.filter(({ ms }) => ms >= smallestShownMs), others]
}

/** The centre of an area in time. What belongs to no folder comes last. */
function rank({ name, shares }: Area): number {
  if (name === 'waiting') return 3 * bins
  if (!name.includes('/')) return 2 * bins
  return sum(shares.map((share, bin) => share * bin)) / (sum(shares) || 1)
}

function areasOfNodes({ nodes }: Profile): ReadonlyMap<number, string> {
  const areas = new Map<number, string>()
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const visit = (id: number, inherited: string | undefined) => {
    const node = byId.get(id)
    if (node === undefined) return
    const area = areaOfFrame(node.callFrame) ?? inherited
    if (area !== undefined) areas.set(id, area)
    for (const child of node.children ?? []) visit(child, area)
  }
  const [root] = nodes
  if (root !== undefined) visit(root.id, undefined)
  return areas
}

const projectRoot = fileURLToPath(new URL('../../../', import.meta.url))

/** Undefined for a frame of Node or a package, whose time belongs to the folder that called it. */
function areaOfFrame({ functionName, url }: Profile['nodes'][number]['callFrame']): string | undefined {
  if (functionName === '(idle)') return 'waiting'
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (!url.startsWith('file:')) return undefined
  const path = relative(projectRoot, fileURLToPath(url))
  if (path.startsWith('test/')) return 'the platform and the model'
  const [top = '', second = '', third = ''] = path.split('/')
  if (top !== 'src') return undefined
  if (!third) return `src/${second}`
  return second === 'store' ? 'src/store/ (SQLite and the disk)' : `src/${second}/`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
