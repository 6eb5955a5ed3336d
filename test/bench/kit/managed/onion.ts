/**
 * A handwritten equivalent: rewrites, wrappers, a scope, and start and end events with ids and times that an observer
 * receives outside of the call. It has no isolation, levels, snapshots, aborts or limits.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import {
  type Args,
  argsOf,
  type CreateVariant,
  createObserver,
  rewritten,
  times,
  tool,
  type Variant,
} from './workload.ts'

interface Event {
  readonly uuid: string
  readonly parent: string | null
  readonly at: number
  readonly name: string
  readonly edge: 'start' | 'end'
  readonly data: unknown
}

export const onion: CreateVariant = (workload) => {
  const { rewrites, wrappers, observed } = workload
  const given = argsOf(workload)
  const scopes = new AsyncLocalStorage<string>()
  const steps = times(rewrites, (step) => (args: Args) => rewritten(args, step))
  const around = times(wrappers, () => async (_args: Args, next: () => Promise<unknown>) => await next())
  const queue: Event[] = []
  let draining = false
  const observer = createObserver()

  const deliverEvents = () => {
    for (const event of queue.splice(0)) observer(event)
    draining = false
  }
  const publishEvent = (edge: Event['edge'], uuid: string, parent: string | null, data: unknown) => {
    queue.push({ uuid, parent, at: Date.now() * 1_000, name: 'read_file', edge, data: structuredClone(data) })
    if (draining) return
    draining = true
    queueMicrotask(deliverEvents)
  }
  const runFrom = (depth: number, args: Args): Promise<unknown> => {
    const wrapper = around[depth]
    return wrapper === undefined ? tool(args) : wrapper(args, () => runFrom(depth + 1, args))
  }
  const call: Variant['call'] = async () => {
    let args = given
    for (const step of steps) args = await step(args)
    if (!observed) return runFrom(0, args)
    const parent = scopes.getStore() ?? null
    const uuid = randomUUID()
    return scopes.run(uuid, async () => {
      publishEvent('start', uuid, parent, args)
      const result = await runFrom(0, args)
      publishEvent('end', uuid, parent, result)
      return result
    })
  }
  return { call, flushed: async () => undefined }
}
