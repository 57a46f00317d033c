import re,io,contextlib
p='docs/detection.md'; s=open(p).read()
scope={}; last=''
for code in re.findall(r'^```python\n(.*?)^```$',s,re.M|re.S):
    o=io.StringIO()
    with contextlib.redirect_stdout(o): exec(compile(code,'doc','exec'),scope)
    print(o.getvalue(),'----')
    last=o.getvalue()
s=s.replace('```\nalarms\n```','```\n'+last+'```'); open(p,'w').write(s)
scope['found'].plot().savefig('.trydoc.png')
