/**
 * Fetches an image, and tells people that they wait for it.
 */
import { HermesError } from '#sdk'
import { type PullOptions, reasonOf, runClient } from '../shared/client-program.ts'
import { type Engine, failureOf, isEngineUnreachable } from './engine.ts'

/** Large images over a slow link. */
const pullTimeoutMs = 30 * 60_000
/** Between two messages about the progress. */
const announceEveryMs = 60_000

/** Rejects `environment/no-image`, `environment/unreachable`, or with the reason of the signal. */
export async function pullImage(
  engine: Engine,
  image: string,
  { signal, announce, log, now = () => performance.now() }: PullOptions,
): Promise<void> {
  announce(`Fetching the image ${image}. This happens once and can take some minutes.`)
  log.info({ event: 'container.image_pull', image }, 'an image is fetched')
  const layers = { known: new Set<string>(), done: new Set<string>() }
  let announcedAt = now()
  const result = await runClient(engine.program, ['pull', image], {
    signal,
    timeoutMs: pullTimeoutMs,
    onOutput(text) {
      noteLayers(text, layers)
      if (now() - announcedAt < announceEveryMs) return
      announcedAt = now()
      announce(`Still fetching the image ${image}: ${layers.done.size} of ${layers.known.size} layers are here.`)
    },
  })
  if (result.exitCode === 0) {
    log.info({ event: 'container.image_pulled', image }, 'an image was fetched')
    return
  }
  if (isEngineUnreachable({ ...result, timedOut: false }) && !/registry|manifest|lookup|https?:/i.test(result.stderr))
    throw failureOf(engine, result)
  throw new HermesError('environment/no-image', `${image}: ${reasonOf(result)}`)
}

/** Docker: `4f4fb700ef54: Pull complete`. Podman: `Copying blob 4f4fb700ef54 done`. */
function noteLayers(text: string, { known, done }: { known: Set<string>; done: Set<string> }): void {
  for (const line of text.split('\n')) {
    const layer = /\b([0-9a-f]{12})\b/.exec(line)?.[1]
    if (layer === undefined) continue
    known.add(layer)
    if (/complete|done|already exists|skipped/i.test(line)) done.add(layer)
  }
}
