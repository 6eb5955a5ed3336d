/**
 * `hermes hooks new`: writes a hook that works, to be changed.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HermesError } from '../lib/errors.ts'
import { ensureDirectory } from '../lib/files.ts'
import type { CliContext } from './context.ts'
import { assertHomeUsable } from './settings.ts'

/** Throws `cli/usage` for a name that is none, or that is taken. */
export async function hooksNew(
  context: CliContext,
  name: string,
  { python }: { readonly python: boolean },
): Promise<void> {
  assertHomeUsable(context)
  const { hooks } = context.home
  const folder = join(hooks, name)
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) {
    throw new HermesError('cli/usage', `Expected a name of letters, digits, - and _, found ${JSON.stringify(name)}.`)
  }
  if (existsSync(folder)) throw new HermesError('cli/usage', `${folder} is there already.`)
  ensureDirectory(hooks)
  ensureDirectory(folder)
  const file = join(folder, python ? 'handler.py' : 'handler.ts')
  writeFileSync(file, python ? pythonHandler : typescriptHandler, { mode: 0o600 })
  // Last: with it the folder becomes a hook.
  writeFileSync(join(folder, 'HOOK.yaml'), manifest(name), { mode: 0o600 })
  context.output.write(
    `Wrote ${file}.\nIt writes the length of every answer into the log. A running gateway has loaded it by now.\nTry it: hermes hooks test ${name}\n`,
  )
}

function manifest(name: string): string {
  return `name: ${name}
description: Writes the length of every answer into the log
events:
  - agent:end
`
}

const typescriptHandler = `import type { HookEvents, HookServices } from '#sdk'

/** Called for each event that HOOK.yaml names. What people wrote is data: never put it into a command. */
export async function handle(
  event: string,
  context: HookEvents['agent:end'],
  { log }: HookServices,
): Promise<void> {
  log.info(\`\${event}: \${context.response_full.length} characters for \${context.user_id}\`)
}
`

const pythonHandler = `"""Called for each event that HOOK.yaml names. What people wrote is data: never put it into a command."""


async def handle(event_type: str, context: dict, services):
    length = len(context["response_full"])
    services.log.info(f"{event_type}: {length} characters for {context['user_id']}")
`
