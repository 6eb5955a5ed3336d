/**
 * The services of `/queue`, `/steer` and `/busy`. Loaded with the first of these commands.
 */
import type { BusyServices } from '../../commands/busy.ts'
import type { ConfigOf } from '../../config/section.ts'
import type { Engine } from '../../engine/engine.ts'
import { moveEventKeys } from '../../inbox/apply-change.ts'
import type { inboxConfig } from '../../inbox/config.ts'
import { insertEvent } from '../../inbox/queries.ts'
import { serializeEvent } from '../../inbox/stored-event.ts'
import { busyInputModes } from '../../message/conversation-choices.ts'
import { changeSessionSetting, readSessionSettings } from '../../sessions/session-state.ts'
import type { Store } from '../../store/store.ts'
import type { DisplayConfig } from '../turn/config.ts'
import type { BusyArrivals } from './arrivals.ts'
import { isInteractive } from './decide.ts'

export function createBusyServices(
  store: Store,
  arrivals: BusyArrivals,
  engine: Pick<Engine, 'wake' | 'isBusy'>,
  settings: () => DisplayConfig & ConfigOf<typeof inboxConfig>,
): BusyServices {
  return {
    enqueue(key, { seq: commandSeq, event: typed }, { mode, text }, say) {
      const file = typed.attachments?.[0]
      const event = {
        ...typed,
        text,
        messageType: file?.kind ?? ('text' as const),
        busyMode: mode,
        // The text after the command is never a command itself.
        allowGatewayControl: false,
      }
      const payload = serializeEvent(event, settings().inbox)
      const { platform, account, chatId } = event.source
      return {
        *write(now) {
          const isBusy = engine.isBusy(key, 'turn')
          const row = {
            sessionKey: key,
            lane: 'turn',
            kind: event.messageType,
            platform,
            account,
            chatId,
            payload,
          } as const
          const seq = yield* insertEvent(row, now)
          // An edit or a deletion of the command concerns the message that it has become.
          yield* moveEventKeys(commandSeq, seq)
          const result = yield* arrivals.arrive(key, event, seq, now, { isAcknowledged: false })
          // One notice for a burst tells a person.
          if (result === 'refused' && isInteractive(event)) return ''
          return say(result === 'waits' && !isBusy ? 'starts' : result)
        },
        committed: () => engine.wake(key, 'turn'),
      }
    },

    async modeOf(key) {
      const { display } = settings()
      const { busy_input_mode: chosen } = await store.run(() => readSessionSettings(key))
      const isChosen = busyInputModes.some((mode) => mode === chosen)
      const configured = display.busy_text_mode ?? display.busy_input_mode
      return { mode: isChosen && chosen !== undefined ? chosen : configured, isChosen }
    },

    async choose(key, mode) {
      if (mode !== null && !busyInputModes.some((known) => known === mode)) return false
      await store.run(() => changeSessionSetting(key, 'busy_input_mode', mode))
      return true
    },
  }
}
