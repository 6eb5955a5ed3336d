/**
 * Switches the approval of commands off and on for a conversation (`/yolo`). Loaded with the command.
 */
import { toggleYolo } from '../../approvals/queries.ts'
import type { YoloSwitch } from '../../commands/session.ts'
import { sessionIdAt } from '../../lib/ids.ts'
import { ensureSession, epochOptions } from '../../sessions/session-state.ts'
import type { Store } from '../../store/store.ts'

export function createYoloSwitch({
  store,
  clock,
}: {
  readonly store: Pick<Store, 'run'>
  readonly clock: () => number
}): YoloSwitch {
  return {
    toggle: (key, source) =>
      store.run(function* () {
        const now = clock()
        const { session_id } = yield* ensureSession(epochOptions(source, key, sessionIdAt(now), now))
        return yield* toggleYolo(session_id, source.userId ?? '', now)
      }),
  }
}
