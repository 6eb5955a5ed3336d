/**
 * Defines the commands for what the agent is told, knows and may use.
 */
import { type Commands, commandsOf, json } from './options.ts'

export function addPromptCommand(root: Commands): void {
  root
    .group('prompt', 'what the model is told before a conversation')
    .from(() => import('../prompt.ts'))
    .add('show', 'promptShow', 'show the system prompt of a new conversation, layer by layer')
    .description(
      'Shows what a direct message of an owner would begin a conversation with: the layers of the system prompt with their sizes, what is added at each call, and the tools. Nothing is stored. Without a running gateway, one is started for the moment.',
    )
    .option('--platform <name>', 'the platform of the message', 'cli')
    .option(...json)
}

export function addToolCommands(root: Commands): void {
  const tools = root.group('tools', 'which tools the model is offered').from(() => import('../tools.ts'))
  const platform = ['--platform <name>', 'only on this platform'] as const
  tools.add(
    'list',
    'toolsList',
    'list the toolsets with their tools, and whether a new conversation is offered them',
    platform,
    json,
  )
  tools.add(
    'enable <names...>',
    'toolsEnable',
    'offer toolsets or tools to new conversations; edits config.yaml',
    platform,
  )
  tools
    .add('disable <names...>', 'toolsDisable', 'take toolsets or tools away; edits config.yaml', platform)
    .description(
      'Takes toolsets or tools away: on all platforms with `agent.disabled_toolsets`, which counts at once, or on one platform for new conversations.',
    )
}

export function addModelCommands(root: Commands): void {
  const questions = root.from(() => import('../model-questions.ts'))
  root
    .add(
      () => import('../setup.ts'),
      'setup [step]',
      'setup',
      'connect a model, chats and a service, the first step',
      json,
    )
    .description(
      'Asks in a terminal for a model and its key, then for chats, then whether the gateway shall start with the machine. Everything is tried, and written into config.yaml and .env. One step alone: `model`, `chat` or `service`. Model servers that run on this machine are offered with their models. In a new home, a home of Hermes Agent or OpenClaw is offered for an import.',
    )
    .option(
      '--platform <name>',
      'connect this platform without a question: its values are read from their variables, such as TELEGRAM_BOT_TOKEN',
    )
  const group = questions
    .add('model', 'modelChoose', 'choose, list and try models', json)
    .description(
      'Without a command: chooses a model in a terminal, and shows the configured one elsewhere. The choice is written into config.yaml, in the form that the file has.',
    )
    .usage('[command] [options]')
    .helpCommand(false)
  const model = commandsOf(group, root.context).from(() => import('../model.ts'))
  model
    .add('list [provider]', 'modelList', 'list the models of the providers with a key', json)
    .description(
      'Lists the providers with a key, the servers of config.yaml and the model servers that run on this machine, with their models. A provider has five seconds to answer.',
    )
  model
    .add('probe [model]', 'modelProbe', 'try the key, the address and a model', json)
    .description(
      'Tries the configured model, `<provider>` or `<provider>:<model>`: the key, the list of models and one small request. Exit code 1 when something does not work.',
    )
  model
    .add('set <model>', 'modelSet', 'write another model into config.yaml')
    .description(
      'Writes `<model>` or `<provider>:<model>` into config.yaml after asking the provider whether it has the model. Comments stay. The address and the key of a former server move to `providers`.',
    )
    .option('--provider <name>', 'the provider of the model')
    .option('--unchecked', 'do not ask the provider', false)
    .option(...json)
}

export function addAuthCommands(root: Commands): void {
  const auth = root.group('auth', 'the keys of model providers').from(() => import('../auth.ts'))
  auth.add(
    'list [provider]',
    'authList',
    'list the keys in auth.json and in the environment, and which of them rest after a failure',
    json,
  )
  auth
    .add('add <provider>', 'authAdd', 'store a key, which is read from the standard input')
    .description(
      'Stores one more key of a provider in auth.json. The key is typed, and not shown, or read from the standard input: `hermes auth add openrouter < key.txt`. A turn uses the first key that the provider accepts.',
    )
    .option('--label <text>', 'a name for people')
    .option('--base-url <url>', 'the address to which this key belongs, if it is another one')
  auth.add('remove <provider> <key>', 'authRemove', 'delete a stored key, by its id, label or number in the list')
  auth.add('reset <provider> [key]', 'authReset', 'use keys again that rest after a failure')
}

export function addFallbackCommands(root: Commands): void {
  const fallback = root
    .group('fallback', 'the models that finish a turn when the configured one fails')
    .from(() => import('../fallback.ts'))
  fallback.add(
    'list',
    'fallbackList',
    'list the models in the order in which they are tried, and whether each has a key',
    json,
  )
  fallback
    .add('add <provider> <model>', 'fallbackAdd', 'add a model at the end; edits config.yaml')
    .description(
      'Adds a model at the end of `fallback_providers` in config.yaml. It finishes a turn at once when the key or the configured model is refused, and after three tries when the provider is busy or does not answer.',
    )
    .option('--base-url <url>', 'the address of the API, if it is not that of the provider')
    .option('--key-env <variable>', 'the environment variable that holds its key, if it is not that of the provider')
    .option('--context-length <tokens>', 'the size of its window, if it is not `context_length`')
  fallback.add(
    'remove <entry>',
    'fallbackRemove',
    'remove a model, by its number in the list or its name; edits config.yaml',
  )
  fallback.add('clear', 'fallbackClear', 'remove all models; edits config.yaml')
}

export function addMemoryCommands(root: Commands): void {
  const memory = root
    .group('memory', 'what the agent remembers in all conversations')
    .from(() => import('../memory.ts'))
  memory
    .add('status', 'memoryStatus', 'show the memory files and the memory provider', json)
    .description(
      'Shows how full MEMORY.md and USER.md are, what is wrong with them, and which memory providers are installed. Exit code 1 when a file or the provider cannot be used.',
    )
  memory.add(
    'show [target]',
    'memoryShow',
    'print the entries: `memory` (the notes of the agent), `user` (the profile of the owner), or both',
    json,
  )
  memory
    .add('setup [provider]', 'memorySetup', 'choose a plugin as the long-term memory')
    .description('Sets `memory.provider` in config.yaml. Without a name it lists the providers that are installed.')
    .option(json[0], 'without a name: print JSON, for scripts', json[2])
  memory.add('off', 'memoryOff', 'use no memory provider; MEMORY.md and USER.md stay in use')
}

export function addSkillCommands(root: Commands): void {
  const skills = root
    .group('skills', 'instructions that the agent follows for kinds of work')
    .from(() => import('../skills.ts'))
  skills.add('list', 'skillsList', 'list the skills of the home, of skills.external_dirs and of the gateway', json)
  skills.add('view <name>', 'skillsView', 'show the instructions and the files of a skill', json)
  skills
    .add('new <name>', 'skillsNew', 'create a skill from a template')
    .option('--category <name>', 'create it in this category')
  skills
    .add('install <source>', 'skillsInstall', 'install skills from a folder or an archive')
    .description(
      'Copies the skills of a folder, or of a .zip, .tar or .tar.gz archive, into the home. They are scanned for instructions of attackers first; links, and paths that lead elsewhere, are refused.',
    )
    .option('--category <name>', 'install into this category')
    .option('--replace', 'replace skills that exist', false)
  skills
    .add('check', 'skillsCheck', 'check the files of all skills', json)
    .description('Checks the files of all skills. Exit code 1 when one of them cannot be used.')
}
