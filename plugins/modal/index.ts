/**
 * `terminal.backend: modal`: each conversation has a sandbox of Modal (contract S11).
 */
import { asNumber, asString, HermesError, isHermesError, messageOf, type PluginContext } from '#sdk'
import { loadModal, type ModalClient } from './load-client.ts'
import { createSandbox } from './sandbox.ts'

export function register(ctx: PluginContext): void {
  let loading: Promise<ModalClient> | undefined
  const client = async (): Promise<ModalClient> => {
    const [tokenId, tokenSecret] = [ctx.env('MODAL_TOKEN_ID'), ctx.env('MODAL_TOKEN_SECRET')]
    if (tokenId === undefined || tokenSecret === undefined) {
      const missing = tokenId === undefined ? 'MODAL_TOKEN_ID' : 'MODAL_TOKEN_SECRET'
      throw new HermesError('environment/unreachable', `${missing} is not set.`, {
        hint: 'Create a token at https://modal.com/settings/tokens and add MODAL_TOKEN_ID and MODAL_TOKEN_SECRET to .env.',
      })
    }
    loading ??= loadModal({ tokenId, tokenSecret }).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return await loading
  }

  ctx.registerEnvironment('modal', {
    create({ sessionId, cwd, settings, variables }) {
      const key = `snapshot:${sessionId}`
      const sandbox = createSandbox({
        client,
        name: `hermes-${sessionId.replaceAll(/[^\w-]+/g, '-')}`.slice(0, 63),
        sessionId,
        settings: () => ({
          app: asString(ctx.config.get('app')),
          image: asString(ctx.config.get('image')),
          cpu: asNumber(settings['container_cpu']),
          memoryMb: asNumber(settings['container_memory']),
          lifetimeMinutes: asNumber(ctx.config.get('lifetime_minutes')),
          idleMinutes: asNumber(ctx.config.get('idle_minutes')),
        }),
        snapshot: {
          get: async () => asString(await ctx.state.get(key)) || undefined,
          set: (id) => ctx.state.set(key, id),
        },
      })
      return {
        kind: 'modal',
        cwd: cwd || '~',
        variables,
        start: sandbox.start,
        runScript: sandbox.runScript,
        async stop() {
          try {
            await sandbox.stop({ keepsFiles: settings['container_persistent'] !== false })
          } catch (error) {
            ctx.log.warn(
              { event: 'modal.stop_failed', sandbox: sandbox.name, err: error },
              'a sandbox of Modal was not ended; it ends by itself',
            )
          }
        },
      }
    },
    async check() {
      try {
        const modal = await client()
        await modal.apps.fromName(asString(ctx.config.get('app')), { createIfMissing: true })
        return { ok: true, detail: 'Modal accepts the token' }
      } catch (error) {
        if (isHermesError(error)) return { ok: false, code: error.code, detail: error.detail, hint: error.hint }
        const hint = 'Check MODAL_TOKEN_ID, MODAL_TOKEN_SECRET and the network.'
        return { ok: false, code: 'environment/unreachable', detail: messageOf(error), hint }
      }
    },
  })
}
