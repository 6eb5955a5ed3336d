/**
 * Defines the commands for what the agent is told, knows and may use.
 */
import type { Command } from 'commander'
import type { CliContext } from '../kit/context.ts'
import { createGroup } from '../kit/help.ts'
import { json, run } from './options.ts'

export function addPromptCommand(root: Command, context: CliContext): void {
  createGroup(root, 'prompt', 'what the model is told before a conversation')
    .command('show')
    .summary('show the system prompt of a new conversation, layer by layer')
    .description(
      'Shows what a direct message of an owner would begin a conversation with: the layers of the system prompt with their sizes, what is added at each call, and the tools. Nothing is stored. Without a running gateway, one is started for the moment.',
    )
    .option('--platform <name>', 'the platform of the message', 'cli')
    .option(...json)
    .action(run(context, async () => (await import('../prompt.ts')).promptShow))
}

export function addToolCommands(root: Command, context: CliContext): void {
  const tools = createGroup(root, 'tools', 'which tools the model is offered')
  const platform = ['--platform <name>', 'only on this platform'] as const
  tools
    .command('list')
    .description('list the toolsets with their tools, and whether a new conversation is offered them')
    .option(...platform)
    .option(...json)
    .action(run(context, async () => (await import('../tools.ts')).toolsList))
  tools
    .command('enable <names...>')
    .description('offer toolsets or tools to new conversations; edits config.yaml')
    .option(...platform)
    .action(run(context, async () => (await import('../tools.ts')).toolsEnable))
  tools
    .command('disable <names...>')
    .summary('take toolsets or tools away; edits config.yaml')
    .description(
      'Takes toolsets or tools away: on all platforms with `agent.disabled_toolsets`, which counts at once, or on one platform for new conversations.',
    )
    .option(...platform)
    .action(run(context, async () => (await import('../tools.ts')).toolsDisable))
}

export function addModelCommands(root: Command, context: CliContext): void {
  root
    .command('setup')
    .summary('choose a model, the first step')
    .description(
      'Asks in a terminal for the provider, its key and the model, tries them, and writes them into config.yaml and .env. Model servers that run on this machine are offered with their models. In a new home, a home of Hermes Agent or OpenClaw is offered for an import.',
    )
    .action(run(context, async () => (await import('../model-questions.ts')).setup))
  const load = () => import('../model.ts')
  const model = root
    .command('model')
    .summary('choose, list and try models')
    .description(
      'Without a command: chooses a model in a terminal, and shows the configured one elsewhere. The choice is written into config.yaml, in the form that the file has.',
    )
    .usage('[command] [options]')
    .helpCommand(false)
    .option(...json)
    .action(run(context, async () => (await import('../model-questions.ts')).modelChoose))
  model
    .command('list [provider]')
    .summary('list the models of the providers with a key')
    .description(
      'Lists the providers with a key, the servers of config.yaml and the model servers that run on this machine, with their models. A provider has five seconds to answer.',
    )
    .option(...json)
    .action(run(context, async () => (await load()).modelList))
  model
    .command('probe [model]')
    .summary('try the key, the address and a model')
    .description(
      'Tries the configured model, `<provider>` or `<provider>:<model>`: the key, the list of models and one small request. Exit code 1 when something does not work.',
    )
    .option(...json)
    .action(run(context, async () => (await load()).modelProbe))
  model
    .command('set <model>')
    .summary('write another model into config.yaml')
    .description(
      'Writes `<model>` or `<provider>:<model>` into config.yaml after asking the provider whether it has the model. Comments stay. The address and the key of a former server move to `providers`.',
    )
    .option('--provider <name>', 'the provider of the model')
    .option('--unchecked', 'do not ask the provider', false)
    .option(...json)
    .action(run(context, async () => (await load()).modelSet))
}

export function addAuthCommands(root: Command, context: CliContext): void {
  const auth = createGroup(root, 'auth', 'the keys of model providers')
  const load = () => import('../auth.ts')
  auth
    .command('list [provider]')
    .description('list the keys in auth.json and in the environment, and which of them rest after a failure')
    .option(...json)
    .action(run(context, async () => (await load()).authList))
  auth
    .command('add <provider>')
    .summary('store a key, which is read from the standard input')
    .description(
      'Stores one more key of a provider in auth.json. The key is typed, and not shown, or read from the standard input: `hermes auth add openrouter < key.txt`. A turn uses the first key that the provider accepts.',
    )
    .option('--label <text>', 'a name for people')
    .option('--base-url <url>', 'the address to which this key belongs, if it is another one')
    .action(run(context, async () => (await load()).authAdd))
  auth
    .command('remove <provider> <key>')
    .description('delete a stored key, by its id, label or number in the list')
    .action(run(context, async () => (await load()).authRemove))
  auth
    .command('reset <provider> [key]')
    .description('use keys again that rest after a failure')
    .action(run(context, async () => (await load()).authReset))
}

export function addFallbackCommands(root: Command, context: CliContext): void {
  const fallback = createGroup(root, 'fallback', 'the models that finish a turn when the configured one fails')
  const load = () => import('../fallback.ts')
  fallback
    .command('list')
    .description('list the models in the order in which they are tried, and whether each has a key')
    .option(...json)
    .action(run(context, async () => (await load()).fallbackList))
  fallback
    .command('add <provider> <model>')
    .summary('add a model at the end; edits config.yaml')
    .description(
      'Adds a model at the end of `fallback_providers` in config.yaml. It finishes a turn at once when the key or the configured model is refused, and after three tries when the provider is busy or does not answer.',
    )
    .option('--base-url <url>', 'the address of the API, if it is not that of the provider')
    .option('--key-env <variable>', 'the environment variable that holds its key, if it is not that of the provider')
    .option('--context-length <tokens>', 'the size of its window, if it is not `context_length`')
    .action(run(context, async () => (await load()).fallbackAdd))
  fallback
    .command('remove <entry>')
    .description('remove a model, by its number in the list or its name; edits config.yaml')
    .action(run(context, async () => (await load()).fallbackRemove))
  fallback
    .command('clear')
    .description('remove all models; edits config.yaml')
    .action(run(context, async () => (await load()).fallbackClear))
}

export function addMemoryCommands(root: Command, context: CliContext): void {
  const memory = createGroup(root, 'memory', 'what the agent remembers in all conversations')
  memory
    .command('status')
    .summary('show the memory files and the memory provider')
    .description(
      'Shows how full MEMORY.md and USER.md are, what is wrong with them, and which memory providers are installed. Exit code 1 when a file or the provider cannot be used.',
    )
    .option(...json)
    .action(run(context, async () => (await import('../memory.ts')).memoryStatus))
  memory
    .command('show [target]')
    .description('print the entries: `memory` (the notes of the agent), `user` (the profile of the owner), or both')
    .option(...json)
    .action(run(context, async () => (await import('../memory.ts')).memoryShow))
  memory
    .command('setup [provider]')
    .summary('choose a plugin as the long-term memory')
    .description('Sets `memory.provider` in config.yaml. Without a name it lists the providers that are installed.')
    .option(json[0], 'without a name: print JSON, for scripts', json[2])
    .action(run(context, async () => (await import('../memory.ts')).memorySetup))
  memory
    .command('off')
    .description('use no memory provider; MEMORY.md and USER.md stay in use')
    .action(run(context, async () => (await import('../memory.ts')).memoryOff))
}

export function addSkillCommands(root: Command, context: CliContext): void {
  const skills = createGroup(root, 'skills', 'instructions that the agent follows for kinds of work')
  const load = () => import('../skills.ts')
  skills
    .command('list')
    .description('list the skills of the home, of skills.external_dirs and of the gateway')
    .option(...json)
    .action(run(context, async () => (await load()).skillsList))
  skills
    .command('view <name>')
    .description('show the instructions and the files of a skill')
    .option(...json)
    .action(run(context, async () => (await load()).skillsView))
  skills
    .command('new <name>')
    .description('create a skill from a template')
    .option('--category <name>', 'create it in this category')
    .action(run(context, async () => (await load()).skillsNew))
  skills
    .command('install <source>')
    .summary('install skills from a folder or an archive')
    .description(
      'Copies the skills of a folder, or of a .zip, .tar or .tar.gz archive, into the home. They are scanned for instructions of attackers first; links, and paths that lead elsewhere, are refused.',
    )
    .option('--category <name>', 'install into this category')
    .option('--replace', 'replace skills that exist', false)
    .action(run(context, async () => (await load()).skillsInstall))
  skills
    .command('check')
    .summary('check the files of all skills')
    .description('Checks the files of all skills. Exit code 1 when one of them cannot be used.')
    .option(...json)
    .action(run(context, async () => (await load()).skillsCheck))
}
