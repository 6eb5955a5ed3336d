import assert from 'node:assert/strict'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { toBotCommands } from '../../platforms/telegram/connection/commands.ts'
import { describedCommands } from '../../src/app/built-in-commands.ts'
import { helpCommand } from '../../src/commands/built-in/information.ts'
import type { CommandContext } from '../../src/commands/command.ts'
import { createCommandRegistry } from '../../src/commands/registry.ts'
import { refuseCommand } from '../../src/flows/access/command-ceiling.ts'
import { brand } from '../../src/lib/ids.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { ownerAuthority } from '../kit/authority.ts'
import { tempHome } from '../kit/temp-home.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))

/** The whole command, with the port that it needs. */
const lampFile = `/** The command /lamp. */
import { defineCommand } from '../command.ts'

interface Lamp {
  turn(state: string): Promise<void>
}

export const lampCommand = defineCommand({
  name: 'lamp',
  aliases: ['light'],
  description: 'Turn the lamp on or off',
  argsHint: '[on|off]',
  choices: ['on', 'off'],
  minimumRole: 'owner',
  async run({ args }, lamp: Lamp) {
    await lamp.turn(args)
    return \`The lamp is \${args}.\`
  },
})
`

test('a command with a service is one new file and one line of the list', async (t) => {
  const folder = tempHome(t)
  cpSync(join(repository, 'src'), join(folder, 'src'), { recursive: true })
  cpSync(join(repository, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  const turned: string[] = []
  const listFile = join(folder, 'src/app/built-in-commands.ts')
  const list = readFileSync(listFile, 'utf8')
  const line = '    bindCommand(startCommand, () => gateway().models),\n'
  assert.ok(list.includes(line))
  writeFileSync(join(folder, 'src/commands/built-in/lamp.ts'), lampFile)
  writeFileSync(
    listFile,
    `import { lampCommand } from '../commands/built-in/lamp.ts'\n${list.replace(
      line,
      `${line}    bindCommand(lampCommand, () => ({ turn: async (state) => gateway().context.log.info(state) })),\n`,
    )}`,
  )

  const changed: { builtInCommands(gateway: () => unknown): ReturnType<typeof describedCommands> } = await import(
    pathToFileURL(listFile).href
  )
  const log = { info: (state: string) => void turned.push(state) }
  const registry = createCommandRegistry(changed.builtInCommands(() => ({ context: { log } })))
  const lamp = registry.resolve('light') ?? assert.fail('the alias is not known')
  assert.equal(registry.list().length, describedCommands().length + 1)

  const context: CommandContext = {
    source: { platform: 'chat', account: 'bot', chatId: 'c', chatType: 'dm' },
    authority: ownerAuthority,
    sessionKey: brand<SessionKey>('agent:main:chat:dm:c'),
    name: 'lamp',
    args: 'on',
    rawCommand: 'light',
    signal: new AbortController().signal,
  }
  assert.equal(await lamp.run(context), 'The lamp is on.')
  assert.deepEqual(turned, ['on'])
  const help = await helpCommand.run(context, { commands: registry.list, skills: async () => [] })
  assert.match(String(help), /^- `\/lamp \[on\|off\]` — Turn the lamp on or off \(also \/light\)$/m)
  assert.ok(toBotCommands(registry.list()).some(({ command }) => command === 'lamp'))
  assert.match(refuseCommand(lamp, { ...ownerAuthority, role: 'guest' }, undefined) ?? '', /for owners/)
})
