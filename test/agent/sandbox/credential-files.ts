/**
 * Where tools keep credentials in a home directory. Only those in the directories of toolchains are on a list of the gateway: the
 * sandbox must not depend on knowing the others.
 */
export const credentialFiles: readonly string[] = [
  // Clouds and hosting
  ...['.kaggle/kaggle.json', '.config/hcloud/cli.toml', '.config/linode-cli', '.config/scw/config.yaml', '.ovh.conf'],
  ...[
    '.config/civo/civo.json',
    '.civo.json',
    '.config/exoscale/exoscale.toml',
    '.vultr-cli.yaml',
    '.aliyun/config.json',
  ],
  ...['.tccli/default.credential', '.bluemix/config.json', '.config/openstack/clouds.yaml', '.openstack/clouds.yaml'],
  ...['.config/packer/config', '.nomad/token', '.consul-token', '.boundary/token', '.config/railway/config.json'],
  ...[
    '.railway/config.json',
    '.render/cli.yaml',
    '.config/vercel/auth.json',
    '.supabase/access-token',
    '.planetscale/token',
  ],
  ...[
    '.config/neonctl/credentials.json',
    '.config/turso/settings.json',
    '.wrangler/config/default.toml',
    '.config/.wrangler/config',
  ],
  ...['.config/fastly/config.toml', '.akamai-cli/config', '.edgerc', '.config/digitalocean', '.config/upctl.yaml'],
  // Kubernetes, containers and machines
  ...[
    '.config/helm/registry/config.json',
    '.rancher/cli2.json',
    '.config/argocd/config',
    '.config/k9s/config.yml',
    '.vagrant.d/data',
  ],
  ...[
    '.config/lxc/client.key',
    '.config/incus/client.key',
    '.ansible/vault-password',
    '.vault_pass.txt',
    '.chef/client.pem',
  ],
  ...['.puppetlabs/token', '.salt/pki/key.pem', '.teleport/keys', '.tsh/keys/cluster', '.config/tailscale/state'],
  // Developers
  ...[
    '.config/gitlab/token',
    '.config/tea/config.yml',
    '.config/lab/lab.toml',
    '.config/jira/.jira.yml',
    '.jira.d/config.yml',
  ],
  ...[
    '.config/sentry/token',
    '.sentryclirc',
    '.config/snyk',
    '.config/circleci/cli.yml',
    '.circleci/cli.yml',
    '.travis/config.yml',
  ],
  ...[
    '.buildkite/agent.cfg',
    '.config/nuget/NuGet.Config',
    '.nuget/NuGet/NuGet.Config',
    '.sbt/credentials',
    '.ivy2/.credentials',
  ],
  ...[
    '.hex/hex.config',
    '.mix/token',
    '.pub-cache/credentials.json',
    '.cabal/config',
    '.stack/upload/credentials.json',
  ],
  ...[
    '.condarc',
    '.config/pip/pip.conf',
    '.pip/pip.conf',
    '.poetry/auth.toml',
    '.config/hatch/config.toml',
    '.bintray/.credentials',
  ],
  ...[
    '.bundle/config',
    '.config/yarn/token',
    '.bunfig.toml',
    '.jupyter/jupyter_server_config.json',
    '.config/matplotlib/token',
  ],
  // Models and agents
  ...[
    '.config/Claude/config.json',
    '.cursor/mcp.json',
    '.continue/config.json',
    '.aider.conf.yml',
    '.openclaw/openclaw.json',
  ],
  ...[
    '.config/goose/config.yaml',
    '.codeium/config.json',
    '.cache/huggingface/token',
    '.huggingface/token',
    '.ollama/id_ed25519',
  ],
  ...[
    '.config/io.datasette.llm/keys.json',
    '.replicate/token',
    '.wandb/settings',
    '.config/wandb/settings',
    '.qwen/oauth_creds.json',
  ],
  // Databases, mail, money and chats
  ...[
    '.mylogin.cnf',
    '.config/mongodb/mongosh',
    '.dbshell',
    '.cassandra/credentials',
    '.snowsql/config',
    '.bigqueryrc',
  ],
  ...[
    '.msmtprc',
    '.fetchmailrc',
    '.mbsyncrc',
    '.offlineimaprc',
    '.muttrc',
    '.config/aerc/accounts.conf',
    '.config/himalaya/config.toml',
  ],
  ...[
    '.bitcoin/wallet.dat',
    '.ethereum/keystore/key',
    '.electrum/wallets/default_wallet',
    '.monero/wallet.keys',
    '.config/solana/id.json',
  ],
  ...[
    '.config/Element/config.json',
    '.config/Mattermost/config.json',
    '.weechat/sec.conf',
    '.irssi/config',
    '.purple/accounts.xml',
  ],
  ...[
    '.local/share/signal-cli/data',
    '.config/syncthing/key.pem',
    '.config/nextcloud/nextcloud.cfg',
    '.dropbox/info.json',
  ],
  // Without a dot
  ...['snap/bitwarden/current/data.json', 'keys/wallet.txt', 'Documents/passwords.kdbx', 'backup.sql'],
  // In the directories of toolchains, which are readable
  ...['.dotnet/corefx/cryptography/x509stores/my/a.pfx', '.local/share/uv/credentials/credentials.toml'],
  ...['.npm-global/etc/npmrc', '.n/etc/npmrc', '.linuxbrew/var/db/a.conf', 'miniconda3/.condarc'],
]
