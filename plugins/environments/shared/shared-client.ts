/**
 * One client for the environments of several conversations and sub-agents: it stops when the last of them has ended.
 */
import { type RemoteClient, raceAbort } from '#sdk'

export interface SharedClient {
  /** The client for one more environment. Its `stop` leaves; the last one that leaves stops the environment. */
  join(onStart?: () => void): RemoteClient
}

/** @param onEmpty called before the environment is stopped */
export function shareClient(client: RemoteClient, onEmpty: () => void = () => undefined): SharedClient {
  const members = new Set<object>()
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    onEmpty()
    const work = client.stop().finally(() => {
      if (closing === work) closing = undefined
    })
    closing = work
    return work
  }
  return {
    join(onStart) {
      const member = {}
      return {
        kind: client.kind,
        endMs: client.endMs,
        async start(signal) {
          members.add(member)
          onStart?.()
          // Otherwise it would find an environment that is about to end. The caller of `stop` is told of a failure.
          if (closing !== undefined) await raceAbort(closing.catch(ignore), signal)
          await client.start(signal)
        },
        commandLine: (script, options) => client.commandLine(script, options),
        describeFailure: (exit) => client.describeFailure?.(exit),
        async stop() {
          if (members.delete(member) && members.size === 0) await close()
        },
      }
    },
  }
}

const ignore = () => undefined
