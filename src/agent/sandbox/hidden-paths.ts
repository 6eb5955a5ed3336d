/**
 * The paths that hold secrets, or that other programs load as code or settings. Relative paths belong to a home directory.
 */

import { isWithin } from '../../lib/files.ts'

/**
 * Keys, credentials, browser profiles, password stores and histories. A home is hidden as a whole; these paths stay hidden also in a
 * directory around them that a setting opens. No list of them is complete.
 */
export const privatePaths: readonly string[] = [
  // Keys and credentials of tools
  ...['.ssh', '.gnupg', '.aws', '.azure', '.kube', '.oci', '.age', '.fly', '.netlify', '.vercel', '.terraform.d'],
  ...['.config/gcloud', '.config/gh', '.config/hub', '.config/glab-cli', '.config/doctl', '.config/heroku'],
  ...['.config/rclone', '.config/sops', '.config/age', '.config/ngrok', '.config/stripe', '.config/netlify'],
  ...['.config/containers', '.config/git/credentials', '.config/pypoetry/auth.toml', '.config/composer/auth.json'],
  ...['.config/github-copilot', '.config/op', '.config/configstore', '.docker', '.subversion/auth', '.ngrok2'],
  ...['.netrc', '.pgpass', '.my.cnf', '.npmrc', '.yarnrc.yml', '.pypirc', '.git-credentials', '.vault-token'],
  ...['.s3cfg', '.boto', '.databrickscfg', '.cargo/credentials', '.cargo/credentials.toml', '.gem/credentials'],
  ...['.m2/settings.xml', '.m2/settings-security.xml', '.gradle/gradle.properties', '.composer/auth.json'],
  ...['.terraformrc', '.claude', '.claude.json', '.codex', '.gemini', '.anthropic', '.openai', '.env'],
  // In the directories of toolchains: keys of certificates, tokens of package indexes, data of services
  ...['.dotnet/corefx', '.local/share/uv/credentials', '.npm-global/etc', '.n/etc', '.linuxbrew/var'],
  ...['miniconda3/.condarc', 'miniforge3/.condarc', 'anaconda3/.condarc'],
  // Password stores and keyrings
  ...['.password-store', '.local/share/keyrings', '.local/share/kwalletd', '.config/keepassxc', '.config/Bitwarden'],
  ...['.config/1Password', '.lastpass', 'Library/Keychains', 'Library/Application Support/1Password'],
  // Browsers, mail and chats
  ...['.mozilla', '.thunderbird', '.config/google-chrome', '.config/google-chrome-beta', '.config/chromium'],
  ...['.config/BraveSoftware', '.config/microsoft-edge', '.config/vivaldi', '.config/opera', '.config/Signal'],
  ...['.config/Slack', '.config/discord', '.local/share/TelegramDesktop', '.cache/mozilla', '.cache/google-chrome'],
  ...['.cache/chromium', '.cache/BraveSoftware', 'snap/firefox', 'snap/chromium', '.var/app'],
  ...['Library/Application Support/Google/Chrome', 'Library/Application Support/Firefox', 'Library/Cookies'],
  ...['Library/Safari', 'Library/Mail', 'Library/Messages'],
  // Histories contain passwords that people typed, and these give access to the desktop
  ...['.bash_history', '.zsh_history', '.local/share/fish/fish_history', '.python_history', '.node_repl_history'],
  ...['.psql_history', '.mysql_history', '.sqlite_history', '.lesshst', '.viminfo', '.Xauthority', '.ICEauthority'],
]

/** Entries of a home directory without a dot that programs of the user load without being asked. */
export const startupDirectories: readonly string[] = ['bin', 'Library']

/** Secrets of the system that the user of the gateway may be able to read, above all when it is root. */
export const systemSecrets: readonly string[] = [
  ...[
    '/etc/shadow',
    '/etc/shadow-',
    '/etc/gshadow',
    '/etc/gshadow-',
    '/etc/sudoers',
    '/etc/sudoers.d',
    '/etc/ssl/private',
  ],
  ...['/etc/ssh/ssh_host_rsa_key', '/etc/ssh/ssh_host_ecdsa_key', '/etc/ssh/ssh_host_ed25519_key', '/etc/letsencrypt'],
  ...['/etc/wireguard', '/etc/NetworkManager/system-connections', '/etc/kubernetes', '/var/lib/docker'],
  ...['/var/lib/kubelet', '/var/spool/cron', '/var/backups', '/etc/krb5.keytab', '/etc/ppp', '/root/.ssh'],
  // The secrets of containers and services, credentials of sessions, and sockets: D-Bus, systemd, Docker
  '/run',
]

/** What name resolution needs of `/run`, beside the file to which `/etc/resolv.conf` leads. */
export const resolverPaths: readonly string[] = [
  ...['/run/systemd/resolve', '/run/resolvconf', '/run/NetworkManager/resolv.conf', '/run/nscd'],
]

/** Directories in which every file belongs to the system. */
const systemTrees: readonly string[] = [
  ...[
    '/bin',
    '/boot',
    '/dev',
    '/etc',
    '/lib',
    '/lib32',
    '/lib64',
    '/libx32',
    '/nix',
    '/proc',
    '/sbin',
    '/snap',
    '/sys',
  ],
  ...['/usr/bin', '/usr/include', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libexec', '/usr/sbin', '/usr/share'],
  ...['/usr/local/bin', '/usr/local/lib', '/usr/local/sbin', '/run/systemd', '/var/lib/dpkg', '/var/lib/systemd'],
  ...['/var/spool/cron', '/System', '/private/etc', '/private/var/db'],
]

/** Directories of the system in which people have folders for their own work. */
const systemParents: readonly string[] = ['/home', '/opt', '/run', '/var/log', '/Applications', '/Library', '/Users']

/** Whether a real path is a directory of the system, or contains one, as `/` does. Below it, shared memory belongs to everyone. */
export function isSystemDirectory(path: string): boolean {
  const isInside = systemTrees.some((tree) => isWithin(path, tree)) && !isWithin(path, '/dev/shm')
  return isInside || [...systemTrees, ...systemParents].some((directory) => isWithin(directory, path))
}
