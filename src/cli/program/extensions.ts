/**
 * Defines the commands for hooks, plugins and platforms.
 */
import { type Commands, json } from './options.ts'

export function addHookCommands(root: Commands): void {
  root.command.commandsGroup('Extend:')
  const hooks = root.group('hooks', 'your own code that observes events')
  const hooksList = hooks.from(() => import('../hooks-list.ts'))
  hooksList.add('list', 'hooksList', 'list hooks with their state and statistics', json)
  hooksList.add('info <name>', 'hooksInfo', 'show all details of a hook', json)
  hooks
    .from(() => import('../hooks-test.ts'))
    .add('test <name>', 'hooksTest', 'call a hook with a sample event; exit code 1 when it fails')
    .option('--event <event>', 'name of the event (default: the first event of the hook)')
    .option('--context <file>', 'file with the event context, a JSON object')
    .option(...json)
  hooks
    .add(() => import('../hooks-new.ts'), 'new <name>', 'hooksNew', 'create a hook from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
  const hooksAccept = hooks.from(() => import('../hooks-accept.ts'))
  hooksAccept.add('accept <name>', 'hooksAccept', 'give consent to run a shell hook configured in config.yaml')
  hooksAccept.add('revoke <name>', 'hooksRevoke', 'revoke consent for a shell hook configured in config.yaml')
  const hooksPause = hooks.from(() => import('../hooks-pause.ts'))
  hooksPause.add('pause <name>', 'hooksPause', 'stop delivering events to a hook until it is resumed')
  hooksPause.add('resume <name>', 'hooksResume', 'resume a hook that was paused, or disabled after repeated failures')
}

export function addPluginCommands(root: Commands): void {
  const plugins = root.group('plugins', 'your own code that changes the behaviour of the gateway')
  const pluginsList = plugins.from(() => import('../plugins-list.ts'))
  pluginsList.add('list', 'pluginsList', 'list plugins and their state', json)
  pluginsList.add('info <id>', 'pluginsInfo', 'show all details of a plugin', json)
  const pluginsEnable = plugins.from(() => import('../plugins-enable.ts'))
  pluginsEnable
    .add('enable <id>', 'pluginsEnable', 'enable a plugin')
    .description('Adds a plugin to `plugins.enabled` of config.yaml. The plugin gets all permissions of the gateway.')
  pluginsEnable.add('disable <id>', 'pluginsDisable', 'disable a plugin')
  plugins
    .add(() => import('../plugins-new.ts'), 'new <name>', 'pluginsNew', 'create a plugin from a working template')
    .option('--python', 'use Python instead of TypeScript', false)
  plugins
    .add(() => import('../plugins-test.ts'), 'test <id>', 'pluginsTest', 'test a plugin in an empty home')
    .description(
      'Loads a plugin in an empty home without a model, sends one message, and shows the calls of the plugin. Exit code 1 when it fails.',
    )
    .option('--message <text>', 'text of the message')
    .option(...json)
}

export function addPlatformCommand(root: Commands): void {
  root
    .group('platforms', 'the platforms that people write from')
    .from(() => import('../platforms.ts'))
    .add('manifest <platform>', 'platformsManifest', 'print the settings of an app for the pages of its platform', json)
    .description(
      'Prints the manifest of the app as JSON: its permissions, events and slash commands, to be pasted into the pages of the platform. With a running gateway it has the commands of plugins and skills, too.',
    )
}
