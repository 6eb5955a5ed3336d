/**
 * `terminal.backend: daytona`: each conversation has a sandbox of Daytona (contract S11). It is an example of an
 * environment that a plugin reaches by HTTP as well.
 */
import { asNumber, asString, HermesError, messageOf, type PluginContext } from '#sdk'
import { createDaytonaClient, type DaytonaClient } from './client.ts'
import { createSandbox, type SandboxSettings } from './sandbox.ts'

const defaultUrl = 'https://app.daytona.io/api'

type Terminal = Readonly<Record<string, unknown>>

export function register(ctx: PluginContext): void {
  const client = (): DaytonaClient => {
    const key = ctx.env('DAYTONA_API_KEY')
    if (key === undefined) {
      throw new HermesError('environment/unreachable', 'DAYTONA_API_KEY is not set.', {
        hint: 'Create a key at https://app.daytona.io/dashboard/keys and add DAYTONA_API_KEY to .env.',
      })
    }
    return createDaytonaClient({
      url: (ctx.env('DAYTONA_API_URL') ?? defaultUrl).replace(/\/+$/, ''),
      key,
      organization: ctx.env('DAYTONA_ORGANIZATION_ID'),
    })
  }

  const settingsOf = (terminal: Terminal): SandboxSettings => ({
    image: asString(ctx.config.get('image')),
    target: ctx.env('DAYTONA_TARGET'),
    cpu: asNumber(terminal['container_cpu']),
    memoryGb: Math.ceil(asNumber(terminal['container_memory']) / 1_024),
    diskGb: Math.ceil(asNumber(terminal['container_disk']) / 1_024),
    autoStopMinutes: asNumber(ctx.config.get('auto_stop_minutes')),
    autoDeleteMinutes: asNumber(ctx.config.get('auto_delete_minutes')),
  })

  ctx.registerEnvironment('daytona', {
    create({ sessionId, cwd, settings, variables }) {
      const sandbox = createSandbox({
        client,
        name: `hermes-${sessionId.replaceAll(/[^\w-]+/g, '-')}`.slice(0, 63),
        sessionId,
        settings: () => settingsOf(settings),
      })
      return {
        kind: 'daytona',
        cwd: cwd || '~',
        variables,
        start: sandbox.start,
        runScript: sandbox.runScript,
        async stop() {
          try {
            await (settings['container_persistent'] === false ? sandbox.remove() : sandbox.sleep())
          } catch (error) {
            ctx.log.warn(
              { event: 'daytona.stop_failed', sandbox: sandbox.name, err: error },
              'a sandbox of Daytona was not stopped; it stops by itself',
            )
          }
        },
      }
    },
    async check(_request, signal) {
      try {
        await client().request('GET', '/sandbox/hermes-check', { signal })
        return { ok: true, detail: 'Daytona accepts the key' }
      } catch (error) {
        if (error instanceof HermesError) {
          return { ok: false, code: error.code, detail: error.detail, hint: error.hint }
        }
        const hint = 'Check the network, and DAYTONA_API_URL if it is set.'
        return { ok: false, code: 'environment/unreachable', detail: messageOf(error), hint }
      }
    },
  })
}
