/**
 * Keeps the native command menus of the platforms up to date while `quick_commands` and skills change.
 */
import { sleep } from '../../lib/timers.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'
import type { Runtime } from '../../store/runtime.ts'

interface ConnectedAdapters {
  accounts(): readonly { readonly platform: string; readonly account: string }[]
  adapter(of: {
    readonly platform: string
    readonly account: string
  }): Pick<PlatformAdapter, 'commandsChanged'> | undefined
}

/** A file is often saved several times in a row, and platforms limit how often a menu may change. */
const quietMs = 1_000

/**
 * The returned function takes the paths of the configuration that have changed. Returns at once; a menu that cannot be updated
 * stays as it is.
 */
export function createCommandMenus(
  adapters: ConnectedAdapters,
  { stopping, log }: Pick<Runtime, 'stopping' | 'log'>,
  wait = sleep,
): (changed: readonly string[]) => void {
  let newest = 0

  async function updateAfter(change: number): Promise<void> {
    await wait(quietMs, stopping)
    if (change !== newest || stopping.aborted) return
    for (const { platform, account } of adapters.accounts()) {
      try {
        adapters.adapter({ platform, account })?.commandsChanged?.()
      } catch (error) {
        log.warn({ event: 'platform.menu_failed', platform, account, err: error }, 'a command menu was not updated')
      }
    }
  }

  return (changed) => {
    if (!changed.some((path) => /^(?:quick_commands|skills)(?:\.|$)/.test(path))) return
    newest += 1
    void updateAfter(newest)
  }
}
