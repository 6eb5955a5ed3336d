/**
 * `hermes platforms manifest`: what a person pastes into the settings of an app at a platform, with the slash
 * commands of this gateway. Only a running gateway knows the commands of plugins and skills.
 */
import { callRoute } from '../api/client.ts'
import { listCommands } from '../api/routes/messages.ts'
import { describedCommands } from '../app/built-in-commands.ts'
import { createCommandRegistry } from '../commands/registry.ts'
import { HermesError } from '../lib/errors.ts'
import { loadPlatform } from '../platforms/registry.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { createDisplay } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'

/** Throws `cli/not-found` for a platform without such a text, what `findRunningDaemon` throws, and `home/unusable`. */
export async function platformsManifest(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  const settings = await readSettings(context)
  const platform = settings.catalogue.platforms.find((candidate) => candidate.name === name.toLowerCase())
  const module = platform === undefined ? undefined : await loadPlatform(platform)
  if (module?.appManifest === undefined)
    throw new HermesError('cli/not-found', `No platform ${name} has settings to paste.`, {
      hint: 'Its how-to guide says how to connect it.',
    })
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  const { quick_commands: quickCommands } = settings.config.current()
  const commands =
    daemon === undefined
      ? createCommandRegistry(describedCommands(), { settings: () => quickCommands, run: async () => '' }).list()
      : await callRoute(daemon, listCommands, {})
  const display = createDisplay(context.output, context.environment)
  display.json(module.appManifest(commands))
  if (json || !display.isTerminal) return
  context.errors.write(
    'Paste the lines above into the settings of your app. The how-to guide of the platform says where.\n',
  )
}
